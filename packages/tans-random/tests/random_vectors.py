"""Numbered expressions of random numbers and the results they must have."""
# ruff: noqa: E501  (texts of results)

from typing import Final

SETUP: Final = """\
kd = lambda k: random.key_data(k).tolist()
def hx(a): return [v.hex() for v in a.tolist()]
def x64(f):
    with jax.enable_x64(True): return f()
"""
# number: (expression, text of the result or the class it raises); from 534 on without
# jax_threefry_partitionable
VECTORS: Final[dict[int, tuple[str, str]]] = {
    421: ("random.key(0)", "Array((), dtype=key<fry>) overlaying: [0 0]"),
    422: ("random.key(0).dtype", "key<fry>"),
    423: ("kd(random.key(0))", "[0, 0]"),
    424: ("kd(random.key(42))", "[0, 42]"),
    425: ("kd(random.key(-1))", "[0, 4294967295]"),
    426: ("kd(random.key(2**40+5))", "[0, 5]"),
    427: ("x64(lambda: kd(random.key(2**40+5)))", "[256, 5]"),
    428: ("x64(lambda: kd(random.key(-1)))", "[4294967295, 4294967295]"),
    429: ("random.key(1.5)", "raises TypeError"),
    430: ("random.key(jnp.arange(2))", "raises TypeError"),
    431: ("random.PRNGKey(0)", "Array([0, 0], dtype=uint32)"),
    432: ("kd(random.split(random.key(0)))", "[[1797259609, 2579123966], [928981903, 3453687069]]"),
    433: (
        "kd(random.split(random.key(0),3))",
        "[[1797259609, 2579123966], [928981903, 3453687069], [4146024105, 2718843009]]",
    ),
    434: (
        "kd(random.split(random.key(0),(2,2)))",
        "[[[1797259609, 2579123966], [928981903, 3453687069]], [[4146024105, 2718843009], [2467461003, 3840466878]]]",
    ),
    435: ("kd(random.split(random.key(42)))", "[[1832780943, 270669613], [64467757, 2916123636]]"),
    436: ("kd(random.fold_in(random.key(0),0))", "[1797259609, 2579123966]"),
    437: ("kd(random.fold_in(random.key(0),1))", "[928981903, 3453687069]"),
    438: ("kd(random.fold_in(random.key(0),2**31))", "[917456828, 636652529]"),
    439: ("kd(random.fold_in(random.key(42),7))", "[2547012911, 1371500959]"),
    440: ("random.fold_in(random.key(0),-1)", "raises OverflowError"),
    441: ("random.bits(random.key(0))", "Array(4070199207, dtype=uint32)"),
    442: (
        "random.bits(random.key(0),(4,))",
        "Array([4070199207, 4202968722, 1427181096, 2012915765], dtype=uint32)",
    ),
    443: ("random.bits(random.key(0),(4,),'uint8')", "Array([167, 146, 40, 53], dtype=uint8)"),
    444: (
        "random.bits(random.key(0),(4,),'uint16')",
        "Array([20391, 13970, 3624, 43061], dtype=uint16)",
    ),
    445: (
        "random.bits(random.key(42),(3,))",
        "Array([2098992034, 2919706841, 2646866425], dtype=uint32)",
    ),
    446: (
        "x64(lambda: random.bits(random.key(0),(2,),'uint64').tolist())",
        "[7719171245655871230, 3989946895414531357]",
    ),
    447: ('random.key(0,impl="rbg")', "Array((), dtype=key<rbg>) overlaying: [0 0 0 0]"),
    448: ('kd(random.key(0,impl="philox2x32"))', "[4280135257]"),
    449: ('kd(random.key(0,impl="philox4x32"))', "[1713891541, 3781805453]"),
    450: (
        'kd(random.key(0,impl="threefry4x32"))',
        "[2624366954, 3783175782, 4228967636, 1381410776]",
    ),
    451: (
        'random.bits(random.key(0,impl="philox2x32"),(2,))',
        "Array([1770281948, 2307865104], dtype=uint32)",
    ),
    452: (
        'random.bits(random.key(0,impl="philox4x32"),(2,))',
        "Array([2034863994, 2176725434], dtype=uint32)",
    ),
    453: (
        'random.bits(random.key(0,impl="threefry4x32"),(2,))',
        "Array([ 72491679, 3548597643], dtype=uint32)",
    ),
    454: (
        'kd(random.split(random.key(0,impl="rbg")))',
        "[[1797259609, 2579123966, 1797259609, 2579123966], [928981903, 3453687069, 928981903, 3453687069]]",
    ),
    455: ('random.key(0,impl="nope")', "raises ValueError"),
    456: ("random.key(0)+1", "raises TypeError"),
    457: ("random.key(0)==random.key(0)", "Array(True, dtype=bool)"),
    458: ("np.asarray(random.key(0))", "raises TypeError"),
    459: ("random.uniform(random.split(random.key(0)))", "raises ValueError"),
    460: ("random.uniform(5)", "raises TypeError"),
    461: (
        "random.uniform(random.key(0),(4,)).tolist()",
        "[0.9476670026779175, 0.9785798788070679, 0.33229148387908936, 0.46866846084594727]",
    ),
    462: (
        "hx(random.uniform(random.key(0),(4,)))",
        "['0x1.e5349c0000000p-1', '0x1.f5086c0000000p-1', '0x1.5444380000000p-2', '0x1.dfeaa00000000p-2']",
    ),
    463: (
        "random.uniform(random.key(42),(3,)).tolist()",
        "[0.48870956897735596, 0.6797971725463867, 0.6162714958190918]",
    ),
    464: (
        "random.uniform(random.key(0),(4,),minval=-1,maxval=1).tolist()",
        "[0.895334005355835, 0.9571597576141357, -0.3354170322418213, -0.06266307830810547]",
    ),
    465: (
        "random.uniform(random.key(0),(4,),jnp.float16)",
        "Array([0.3105, 0.2129, 0.0547, 0.6562], dtype=float16)",
    ),
    466: (
        "random.uniform(random.key(0),(4,),jnp.bfloat16)",
        "Array([0.648438, 0.570312, 0.15625, 0.203125], dtype=bfloat16)",
    ),
    467: (
        "x64(lambda: random.uniform(random.key(0),(2,)).tolist())",
        "[0.41845711171638644, 0.21629545460551136]",
    ),
    468: ("random.uniform(random.key(0),(2,),int)", "raises ValueError"),
    469: ("random.normal(random.key(0))", "Array(1.6226422, dtype=float32)"),
    470: (
        "random.normal(random.key(0),(4,)).tolist()",
        "[1.622642159461975, 2.0252647399902344, -0.4335944354534149, -0.07861734926700592]",
    ),
    471: (
        "hx(random.normal(random.key(0),(4,)))",
        "['0x1.9f657a0000000p+0', '0x1.033be00000000p+1', '-0x1.bc002e0000000p-2', '-0x1.4204440000000p-4']",
    ),
    472: (
        "random.normal(random.key(42),(3,)).tolist()",
        "[-0.02830461598932743, 0.4671318531036377, 0.2957029640674591]",
    ),
    473: (
        "random.normal(random.key(0),(2,),jnp.bfloat16)",
        "Array([0.386719, 0.182617], dtype=bfloat16)",
    ),
    474: (
        "random.normal(random.key(0),(2,),jnp.complex64).tolist()",
        "[(0.7099452614784241-1.7270770072937012j), (-0.6408771872520447-1.4394434690475464j)]",
    ),
    475: (
        "random.randint(random.key(0),(8,),0,10)",
        "Array([9, 0, 2, 3, 1, 7, 2, 3], dtype=int32)",
    ),
    476: (
        "random.randint(random.key(42),(8,),0,10)",
        "Array([4, 4, 1, 9, 9, 9, 7, 7], dtype=int32)",
    ),
    477: ("random.randint(random.key(0),(4,),-5,5)", "Array([ 4, -5, -3, -2], dtype=int32)"),
    478: (
        "random.randint(random.key(0),(4,),0,256,'uint8')",
        "Array([101, 80, 200, 61], dtype=uint8)",
    ),
    479: ("random.randint(random.key(0),(4,),5,5)", "Array([5, 5, 5, 5], dtype=int32)"),
    480: (
        "random.randint(random.key(0),(3,),0,2**31-1)",
        "Array([ 31327077, 89727312, 349724617], dtype=int32)",
    ),
    481: ("x64(lambda: random.randint(random.key(0),(4,),0,10).tolist())", "[5, 1, 5, 7]"),
    482: (
        "random.permutation(random.key(0),10)",
        "Array([0, 1, 8, 5, 6, 4, 3, 2, 7, 9], dtype=int32)",
    ),
    483: ("random.permutation(random.key(42),8)", "Array([7, 4, 2, 5, 3, 6, 0, 1], dtype=int32)"),
    484: (
        "random.permutation(random.key(1),jnp.arange(6).reshape(3,2)).tolist()",
        "[[4, 5], [0, 1], [2, 3]]",
    ),
    485: (
        "random.permutation(random.key(1),jnp.arange(6).reshape(3,2),independent=True).tolist()",
        "[[2, 3], [0, 1], [4, 5]]",
    ),
    486: ("random.choice(random.key(0),5,(3,))", "Array([4, 0, 2], dtype=int32)"),
    487: ("random.choice(random.key(0),5,(3,),replace=False)", "Array([0, 1, 4], dtype=int32)"),
    488: (
        "random.choice(random.key(0),jnp.array([10,20,30]),(4,),p=jnp.array([0.1,0.2,0.7]))",
        "Array([10, 10, 30, 30], dtype=int32)",
    ),
    489: (
        "random.choice(random.key(0),5,(3,),replace=False,p=jnp.array([.1,.2,.3,.2,.2]))",
        "Array([1, 0, 4], dtype=int32)",
    ),
    490: ("random.choice(random.key(0),3,(5,),replace=False)", "raises ValueError"),
    491: (
        "random.bernoulli(random.key(0),0.5,(8,))",
        "Array([False, False, True, True, False, True, True, False], dtype=bool)",
    ),
    492: (
        "random.bernoulli(random.key(0),0.3,(8,))",
        "Array([False, False, False, False, False, True, False, False], dtype=bool)",
    ),
    493: (
        'random.bernoulli(random.key(7),0.3,(8,),mode="high")',
        "Array([False, False, False, False, False, False, False, False], dtype=bool)",
    ),
    494: ("random.bernoulli(random.key(0),1,(2,))", "raises TypeError"),
    495: (
        "random.gumbel(random.key(0),(4,)).tolist()",
        "[2.923372507095337, 3.83261775970459, -0.09689324349164963, 0.2772570848464966]",
    ),
    496: (
        'random.gumbel(random.key(0),(2,),mode="high").tolist()',
        "[-1.0818486213684082, -1.3463637828826904]",
    ),
    497: (
        "random.categorical(random.key(0),jnp.log(jnp.array([.1,.2,.3,.4])),shape=(8,))",
        "Array([1, 3, 2, 3, 1, 1, 2, 3], dtype=int32)",
    ),
    498: ("random.categorical(random.key(0),jnp.zeros((3,4)))", "Array([1, 3, 2], dtype=int32)"),
    499: (
        "random.categorical(random.key(0),jnp.zeros((3,4)),axis=0)",
        "Array([0, 0, 2, 1], dtype=int32)",
    ),
    500: (
        "random.categorical(random.key(0),jnp.zeros(4),replace=False,shape=(2,))",
        "Array([1, 0], dtype=int32)",
    ),
    501: (
        "random.gamma(random.key(0),2.0,(4,)).tolist()",
        "[1.5897877216339111, 1.7599413394927979, 1.12900710105896, 3.9743340015411377]",
    ),
    502: (
        "random.gamma(random.key(0),0.5,(4,)).tolist()",
        "[0.8845648169517517, 1.0290775299072266, 0.04707420989871025, 0.07322501391172409]",
    ),
    503: (
        "random.gamma(random.key(42),jnp.array([1.,10.])).tolist()",
        "[2.1453301906585693, 8.169647216796875]",
    ),
    504: (
        "random.loggamma(random.key(0),0.5,(2,)).tolist()",
        "[-0.12265952676534653, 0.0286627858877182]",
    ),
    505: (
        "random.exponential(random.key(0),(4,)).tolist()",
        "[2.9501280784606934, 3.8434245586395264, 0.4039035439491272, 0.6323691010475159]",
    ),
    506: (
        "random.laplace(random.key(0),(3,)).tolist()",
        "[-2.256981611251831, -3.1502788066864014, 0.4085954427719116]",
    ),
    507: (
        "random.logistic(random.key(0),(3,)).tolist()",
        "[2.896375894546509, 3.8217716217041016, -0.6978392004966736]",
    ),
    508: (
        "random.cauchy(random.key(0),(3,)).tolist()",
        "[6.027494430541992, 14.837895393371582, -0.5817222595214844]",
    ),
    509: (
        "random.truncated_normal(random.key(0),-1.,1.,(4,)).tolist()",
        "[0.8618593811988831, 0.9412882924079895, -0.29104840755462646, -0.05364177003502846]",
    ),
    510: (
        "random.beta(random.key(0),2.,3.,(3,)).tolist()",
        "[0.2362736165523529, 0.4904595613479614, 0.6837947964668274]",
    ),
    511: (
        "random.dirichlet(random.key(0),jnp.array([1.,2.,3.])).tolist()",
        "[0.14228560030460358, 0.40488260984420776, 0.45283177495002747]",
    ),
    512: (
        "random.t(random.key(0),3.,(3,)).tolist()",
        "[0.6902246475219727, -3.2393364906311035, -1.6745249032974243]",
    ),
    513: (
        "random.chisquare(random.key(0),3.,(3,)).tolist()",
        "[2.2050840854644775, 2.489966869354248, 1.4557135105133057]",
    ),
    514: (
        "random.f(random.key(0),3.,4.,(2,)).tolist()",
        "[2.7039127349853516, 0.22600972652435303]",
    ),
    515: ("random.poisson(random.key(0),3.,(8,))", "Array([0, 0, 4, 4, 1, 2, 2, 6], dtype=int32)"),
    516: ("random.poisson(random.key(0),100.,(4,))", "Array([ 85, 95, 87, 110], dtype=int32)"),
    517: ("random.binomial(random.key(0),10,0.5,(4,))", "Array([6., 7., 5., 6.], dtype=float32)"),
    518: (
        "random.multinomial(random.key(0),10,jnp.array([.5,.5]))",
        "Array([7., 3.], dtype=float32)",
    ),
    519: ("random.geometric(random.key(0),0.5,(4,))", "Array([1, 1, 2, 2], dtype=int32)"),
    520: ("random.rademacher(random.key(0),(6,))", "Array([-1, -1, 1, 1, -1, 1], dtype=int32)"),
    521: (
        "random.multivariate_normal(random.key(0),jnp.zeros(2),jnp.eye(2)).tolist()",
        "[1.622642159461975, 2.0252647399902344]",
    ),
    522: ("random.maxwell(random.key(0),(2,)).tolist()", "[2.631096601486206, 0.9910328388214111]"),
    523: (
        "random.rayleigh(random.key(0),1.,(2,)).tolist()",
        "[0.32787832617759705, 0.20810027420520782]",
    ),
    524: (
        "random.pareto(random.key(0),2.,(2,)).tolist()",
        "[4.371315956115723, 6.832647800445557]",
    ),
    525: (
        "random.weibull_min(random.key(0),1.,2.,(2,)).tolist()",
        "[1.7175936698913574, 1.960465431213379]",
    ),
    526: (
        "random.lognormal(random.key(0),1.,(2,)).tolist()",
        "[5.0664591789245605, 7.5781168937683105]",
    ),
    527: (
        "random.triangular(random.key(0),0.,.5,1.,(2,)).tolist()",
        "[0.8382393717765808, 0.8965106010437012]",
    ),
    528: (
        "random.wald(random.key(0),1.,(2,)).tolist()",
        "[0.38059771060943604, 0.41566526889801025]",
    ),
    529: (
        "random.generalized_normal(random.key(0),2.,(2,)).tolist()",
        "[0.9542763233184814, 0.09015025198459625]",
    ),
    530: (
        "random.double_sided_maxwell(random.key(0),0.,1.,(2,)).tolist()",
        "[1.5457209348678589, 1.5741275548934937]",
    ),
    531: ("random.ball(random.key(0),2).tolist()", "[0.9172220230102539, 0.39276883006095886]"),
    532: (
        "random.orthogonal(random.key(0),2).tolist()",
        "[[0.9661029577255249, 0.25815725326538086], [-0.25815725326538086, 0.9661028981208801]]",
    ),
    533: (
        "jax.vmap(random.uniform)(random.split(random.key(0),3)).tolist()",
        "[0.8423141241073608, 0.007293820381164551, 0.9024494886398315]",
    ),
    534: ("kd(random.split(random.key(0)))", "[[4146024105, 967050713], [2718843009, 1272950319]]"),
    535: (
        "kd(random.split(random.key(0),3))",
        "[[2467461003, 428148500], [3186719485, 3840466878], [2562233961, 1946702221]]",
    ),
    536: ("kd(random.fold_in(random.key(0),1))", "[928981903, 3453687069]"),
    537: (
        "random.bits(random.key(0),(4,))",
        "Array([4146024105, 967050713, 2718843009, 1272950319], dtype=uint32)",
    ),
    538: (
        "random.bits(random.key(0),(3,))",
        "Array([4146024105, 1351547692, 2718843009], dtype=uint32)",
    ),
    539: ("random.bits(random.key(0),(5,),'uint8')", "Array([143, 35, 95, 55, 29], dtype=uint8)"),
    540: (
        "random.uniform(random.key(0),(4,)).tolist()",
        "[0.96532142162323, 0.2251589298248291, 0.6330299377441406, 0.2963818311691284]",
    ),
    541: (
        "random.normal(random.key(0),(4,)).tolist()",
        "[1.8160862922668457, -0.7548851370811462, 0.3398890793323517, -0.5348353385925293]",
    ),
    542: (
        "random.permutation(random.key(0),10)",
        "Array([2, 7, 9, 6, 0, 8, 1, 3, 4, 5], dtype=int32)",
    ),
}
