#!/usr/bin/env python
"""Runs one benchmark program against one framework and prints figures.

    python worker.py --framework jax  --program dispatch --json
    python worker.py --framework tans --program stages --case chain1000 --json

The program file never imports a framework; it is handed the modules.
"""
import argparse
import gc
import importlib
import importlib.util
import json
import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
clock = time.perf_counter
cpu = time.process_time      # all threads of this process; immune to preemption


def load_program(name):
    sys.path.insert(0, PROGRAMS)
    sys.path.insert(0, HERE)
    path = os.path.join(PROGRAMS, name + ".py")
    spec = importlib.util.spec_from_file_location("bench_program_" + name, path)
    mod = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(mod)
    return mod


class Recorder:
    def __init__(self):
        self.metrics, self.errors = {}, {}

    def add(self, name, values, unit, exact=False):
        values = list(values)
        self.metrics[name] = dict(unit=unit, n=len(values), min=min(values),
                                  median=statistics.median(values), exact=exact)

    def error(self, name, e):
        self.errors[name] = "%s: %s" % (type(e).__name__, str(e)[:300])


# ------------------------------------------------------------------ measurers
def latency(rec, jax, case, opts):
    """Calls per second of a hot callable, microseconds per call. The garbage
    collector is off inside a sample. One block at the end of every sample."""
    fn = case["fn"]
    block = jax.block_until_ready if case.get("block", True) else (lambda x: x)
    for _ in range(3):
        block(fn())
    n = 1
    while True:
        t = clock()
        for _ in range(n):
            o = fn()
        block(o)
        dt = clock() - t
        if dt > opts.sample_s or n >= 1 << 20:
            break
        n = max(n + 1, int(n * min(8, opts.sample_s * 1.3 / max(dt, 1e-9))))
    vals = []
    it = range(n)
    gc.collect()          # once: a collection costs 0.1 s with a framework loaded
    gc.disable()
    for _ in range(opts.samples):
        t = clock()
        for _ in it:
            o = fn()
        block(o)
        vals.append((clock() - t) / n * 1e6)
    gc.enable()
    rec.add(case["name"], vals, "us")


def timed(rec, jax, case, opts):
    """Whole-call time of ``fn(setup())``; setup is outside the clock. Collector
    left on, as a user would have it, but run first."""
    setup = case.get("setup", lambda: None)
    reps = case.get("reps", opts.reps)
    for _ in range(case.get("warmup", 1)):
        jax.block_until_ready(case["fn"](setup()))
    vals, cpus = [], []
    for _ in range(reps):
        arg = setup()
        gc.collect()
        t, c = clock(), cpu()
        o = case["fn"](arg)
        if case.get("block", True):
            jax.block_until_ready(o)
        cpus.append((cpu() - c) * 1e3)
        vals.append((clock() - t) * 1e3)
        del o
    rec.add(case["name"], vals, "ms")
    if case.get("cpu"):
        rec.add(case["name"] + " cpu", cpus, "ms")


def value(rec, jax, case, opts):
    """Exact figures: ``fn()`` returns {label: (number, unit)}."""
    for k, (v, unit) in case["fn"]().items():
        rec.add(case["name"] + "." + k, [v], unit, exact=True)


def count_eqns(jaxpr):
    """All equations, those of inner jaxprs included (each call site once)."""
    core = getattr(jaxpr, "jaxpr", jaxpr)
    n = 0
    for e in core.eqns:
        n += 1
        for p in e.params.values():
            for q in (p if isinstance(p, (tuple, list)) else (p,)):
                if hasattr(q, "eqns") or hasattr(getattr(q, "jaxpr", None), "eqns"):
                    n += count_eqns(q)
    return n


def stages(rec, jax, case, opts):
    """trace / lower / compile / run of ``fn(*args)``.

    trace_cold: every framework cache dropped first (first program of a process)
    trace_warm: a new function object, inner caches hot (nth program)
    """
    import hlo
    fn, args, name = case["fn"], case["args"], case["name"]
    want = opts.stages

    def fresh():
        return jax.jit(lambda *a: fn(*a))

    def one(metric, thunk, reps, clear):
        vals, cpus = [], []
        out = None
        for _ in range(reps):
            if clear:
                jax.clear_caches()
            prep = thunk[0]()
            gc.collect()
            t, c = clock(), cpu()
            out = thunk[1](prep)
            cpus.append((cpu() - c) * 1e3)
            vals.append((clock() - t) * 1e3)
        rec.add(name + "." + metric, vals, "ms")
        rec.add(name + "." + metric + "_cpu", cpus, "ms")
        return out

    fresh().trace(*args).lower()  # not counted: first-touch costs
    traced = None
    if "trace" in want:
        one("trace_cold", (fresh, lambda j: j.trace(*args)), opts.reps, True)
        traced = one("trace_warm", (fresh, lambda j: j.trace(*args)), opts.reps, False)
        try:
            mk = jax.make_jaxpr(fn)(*args)
            rec.add(name + ".eqns_top", [len(mk.jaxpr.eqns)], "eqns", exact=True)
            rec.add(name + ".eqns_all", [count_eqns(mk)], "eqns", exact=True)
        except Exception as e:
            rec.error(name + ".eqns", e)
    lowered = None
    if "lower" in want or "compile" in want:
        lowered = one("lower_cold", (lambda: (jax.clear_caches(), fresh().trace(*args))[1],
                                     lambda tr: tr.lower()), opts.reps, False)
        one("lower_warm", (lambda: fresh().trace(*args), lambda tr: tr.lower()), opts.reps, False)
        text = lowered.as_text()
        if opts.dump:
            os.makedirs(opts.dump, exist_ok=True)
            open(os.path.join(opts.dump, name.replace(" ", "_") + ".mlir"), "w").write(text)
        rec.add(name + ".stablehlo_ops", [hlo.stablehlo_total(text)], "ops", exact=True)
        rec.add(name + ".stablehlo_ops_inlined", [hlo.stablehlo_inlined_total(text)], "ops", exact=True)
        rec.add(name + ".stablehlo_text", [len(text)], "bytes", exact=True)
        rec.add(name + ".stablehlo_funcs", [text.count("func.func ")], "funcs", exact=True)
    if "compile" in want:
        vals, cpus = [], []
        for _ in range(case.get("compile_reps", opts.compile_reps)):
            lo = fresh().trace(*args).lower()
            gc.collect()
            t, c = clock(), cpu()
            comp = lo.compile()
            cpus.append((cpu() - c) * 1e3)
            vals.append((clock() - t) * 1e3)
        rec.add(name + ".compile", vals, "ms")
        rec.add(name + ".compile_cpu", cpus, "ms")
        text = comp.as_text()
        rec.add(name + ".hlo_instructions", [hlo.hlo_instruction_count(text)], "insts", exact=True)
        jax.block_until_ready(comp(*args))
        vals = []
        for _ in range(opts.run_reps):
            t = clock()
            jax.block_until_ready(comp(*args))
            vals.append((clock() - t) * 1e3)
        rec.add(name + ".run", vals, "ms")


KINDS = dict(latency=latency, timed=timed, value=value, stages=stages)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--framework", required=True)
    ap.add_argument("--program", required=True)
    ap.add_argument("--case", default=None, help="comma list of substrings of case names")
    ap.add_argument("--json", action="store_true")
    ap.add_argument("--samples", type=int, default=31)
    ap.add_argument("--sample-s", type=float, default=0.006)
    ap.add_argument("--reps", type=int, default=5)
    ap.add_argument("--compile-reps", type=int, default=1)
    ap.add_argument("--run-reps", type=int, default=15)
    ap.add_argument("--dump", default=None, help="folder to write each StableHLO module to")
    ap.add_argument("--stages", default="trace,lower,compile")
    opts = ap.parse_args()
    opts.stages = set(opts.stages.split(","))
    prog = load_program(opts.program)
    rec = Recorder()
    result = dict(framework=opts.framework, program=opts.program,
                  python=sys.version.split()[0], loadavg=os.getloadavg()[0])

    if hasattr(prog, "main"):            # a program that drives its own children
        prog.main(opts, rec)
        version = None
    else:
        ndev = getattr(prog, "NUM_DEVICES", 1)
        jax = importlib.import_module(opts.framework)
        jnp = importlib.import_module(opts.framework + ".numpy")
        lax = importlib.import_module(opts.framework + ".lax")
        version = getattr(jax, "__version__", None)
        try:
            jax.config.update("jax_platforms", "cpu")
            if ndev > 1:
                jax.config.update("jax_num_cpu_devices", ndev)
        except Exception as e:
            rec.error("config", e)
        try:
            cases = prog.build(jax, jnp, lax)
        except Exception as e:
            rec.error("build", e)
            cases = []
        for c in cases:
            if opts.case and not any(s in c["name"] for s in opts.case.split(",")):
                continue
            try:
                if "make" in c:          # lazily built case
                    c.update(c["make"]())
                KINDS[c["kind"]](rec, jax, c, opts)
            except Exception as e:
                rec.error(c["name"], e)
    result.update(version=version, metrics=rec.metrics, errors=rec.errors)
    if opts.json:
        print(json.dumps(result))
    else:
        for k, v in rec.metrics.items():
            print("%-48s min %12.3f  median %12.3f %s" % (k, v["min"], v["median"], v["unit"]))
        for k, v in rec.errors.items():
            print("ERROR %-40s %s" % (k, v))


if __name__ == "__main__":
    main()
