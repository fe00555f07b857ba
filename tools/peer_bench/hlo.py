"""Small text parsers for StableHLO modules and optimised HLO modules.

No framework and no jaxlib import: works on printed text only.
"""
import re

_SH_OP = re.compile(r'^\s*(?:%[^=]*=\s*)?"?((?:stablehlo|chlo|sdy|mhlo|func|mpmd)\.[\w.]+)"?')


def stablehlo_counts(text):
    """Counts printed operations by name. Ops hidden inside a pretty-printed
    region (``reduce ... applies stablehlo.add``) are not counted."""
    out = {}
    for line in text.splitlines():
        m = _SH_OP.match(line)
        if m:
            out[m.group(1)] = out.get(m.group(1), 0) + 1
        elif re.match(r'^\s*(return|call)\b', line) or re.match(r'^\s*%[^=]*=\s*call\b', line):
            k = "func." + ("return" if "return" in line.split("@")[0] else "call")
            out[k] = out.get(k, 0) + 1
    return out


def stablehlo_total(text):
    return sum(v for k, v in stablehlo_counts(text).items()
               if k.split(".")[0] in ("stablehlo", "chlo", "mhlo"))


_FUNC = re.compile(r'^\s*func\.func\s+(?:\w+\s+)?@([\w.$\-]+|"[^"]+")')
_CALL = re.compile(r'\bcall @([\w.$\-]+|"[^"]+")')


def stablehlo_inlined_total(text):
    """Operations of ``main`` after inlining every call: a function counts once per call
    site, one that is never called not at all. Two sides that share code differently
    compare by this figure."""
    own, calls, current = {}, {}, None
    for line in text.splitlines():
        f = _FUNC.match(line)
        if f:
            current = f.group(1)
            own[current], calls[current] = 0, []
            continue
        if current is None:
            continue
        m = _SH_OP.match(line)
        if m and m.group(1).split(".")[0] in ("stablehlo", "chlo", "mhlo"):
            own[current] += 1
        calls[current] += _CALL.findall(line)
    totals = {}

    def total(name):
        if name not in totals:
            totals[name] = own.get(name, 0) + sum(total(c) for c in calls.get(name, ()))
        return totals[name]

    return total("main")


_COMP = re.compile(r'^(ENTRY\s+)?%?([\w.\-]+)\s*(?:\(.*)?\{\s*$')
_INST = re.compile(r'^\s+(ROOT\s+)?%?([\w.\-]+)\s*=\s*(.*)$')
_OPC = re.compile(r'\s([a-z][\w\-]*)\(')


def parse_hlo(text):
    """-> (entry_name, {computation: [inst dict]}) for optimised HLO text."""
    comps, entry, cur = {}, None, None
    for line in text.splitlines():
        if line.startswith("HloModule") or not line.strip():
            continue
        if not line[0].isspace() and line.rstrip().endswith("{"):
            m = _COMP.match(line)
            if m:
                cur = m.group(2)
                comps[cur] = []
                if m.group(1):
                    entry = cur
            continue
        if line.startswith("}"):
            cur = None
            continue
        m = _INST.match(line)
        if m and cur is not None:
            rest = m.group(3)
            o = _OPC.search(" " + rest)
            if not o:
                continue
            d = dict(name=m.group(2), op=o.group(1), text=rest)
            for key in ("body", "condition", "to_apply", "calls"):
                k = re.search(r'\b%s=\{?%%?([\w.\-]+)' % key, rest)
                if k:
                    d[key] = k.group(1)
            b = re.search(r'branch_computations=\{([^}]*)\}', rest)
            if b:
                d["branches"] = [s.strip().lstrip("%") for s in b.group(1).split(",")]
            tc = re.search(r'known_trip_count\W+n\W+(\d+)', rest)
            if tc:
                d["trip"] = int(tc.group(1))
            comps[cur].append(d)
    return entry, comps


def _trip_from_condition(comps, cond):
    """Largest integer constant in the loop condition; a fallback only."""
    best = None
    todo, seen = [cond], set()
    while todo:
        c = todo.pop()
        if c in seen:
            continue
        seen.add(c)
        for i in comps.get(c, []):
            k = re.search(r'constant\((\d+)\)', i["text"])
            if k:
                best = max(best or 0, int(k.group(1)))
            for key in ("calls", "to_apply"):
                if key in i:
                    todo.append(i[key])
    return best


COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all",
               "collective-permute", "ragged-all-to-all", "collective-broadcast")


def executed_counts(text, ops=COLLECTIVES):
    """Per-opcode: static count, and executions per run of the entry
    computation (static count times the trip counts of enclosing loops).
    ``X-start`` counts as ``X``; ``X-done`` is ignored."""
    entry, comps = parse_hlo(text)
    static = {o: 0 for o in ops}
    executed = {o: 0 for o in ops}
    unknown = 0
    for insts in comps.values():
        for i in insts:
            o = i["op"][:-6] if i["op"].endswith("-start") else i["op"]
            if o in static:
                static[o] += 1

    def walk(c, mult, depth):
        nonlocal unknown
        if depth > 60:
            return
        for i in comps.get(c, []):
            o = i["op"][:-6] if i["op"].endswith("-start") else i["op"]
            if o in executed:
                executed[o] += mult
                continue
            if i["op"] == "while":
                n = i.get("trip") or _trip_from_condition(comps, i.get("condition"))
                if n is None:
                    unknown += 1
                    n = 1
                walk(i["body"], mult * n, depth + 1)
            elif i["op"] == "conditional":
                for b in i.get("branches", []):
                    walk(b, mult, depth + 1)
            elif i["op"] in ("call", "fusion", "async-start") or "calls" in i:
                t = i.get("to_apply") if i["op"] == "call" else i.get("calls")
                if t:
                    walk(t, mult, depth + 1)

    walk(entry, 1, 0)
    return dict(static=static, executed=executed, unknown_loops=unknown)


def hlo_instruction_count(text):
    _, comps = parse_hlo(text)
    return sum(len(v) for v in comps.values())
