# SPDX-License-Identifier: Apache-2.0
"""How each row of a calibration.csv is run: which file of which repository, what is changed in it,
and the inputs its shape stands for. The kernels stay in checkouts, folders OWNER+NAME; what is not
there is left out. A row nobody knows how to run says why.
"""
import ast
import dataclasses
import pathlib
import re
import subprocess
import textwrap

DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}

# A profile's latency includes what comes before and after the kernel: on trn2 about 13.5 us before
# it and 3 us after it. nki.benchmark counts 6 to 10 us less. The clock's fixed costs are those of
# nki.benchmark.
PROFILE_US = 8.0
# The slope of latency over chained calls includes nothing around the kernel.
SLOPE_US = -8.5
# A synchronous call from the host counts its launch and the reading of the result. That of
# foxl-ai/kiln: its rows of kda_decode lie on 167 us and 12.1 us for each row of the batch, and
# the clock has 27 us for what they do once.
HOST_US = 140.0
CHAIN_US = SLOPE_US + (HOST_US - SLOPE_US) / 8  # of one of eight calls in one launch


@dataclasses.dataclass
class Part:
    """One kernel launch of a row."""
    file: pathlib.Path
    function: str  # with the cores of its launch where they are two: "kernel[2]"
    inputs: str


@dataclasses.dataclass
class Row:
    id: str
    operation: str  # rows of one operation, shape and device are compared in pairs
    shape: str
    device: str
    dialect: str
    measured: float
    metrics: dict
    parts: list = dataclasses.field(default_factory=list)
    harness_us: float = 0.0
    published: float = 0.0  # of a row whose latency was derived from it, which is often half of it
    level: bool = True  # False: the harness decides its level, and only its order is judged
    without: list = dataclasses.field(default_factory=list)  # passes, by its compiler's flags
    release: str = ""  # of the package nki that the kernel was written for; "": the newest
    why_not: str = ""


class Checkouts:
    """The files of checkouts. Some are at an older commit, and some have a change in them."""

    def __init__(self, folder, made):
        self.folder, self.made = pathlib.Path(folder), pathlib.Path(made)

    def file(self, repository, path):
        return self.folder / repository.replace("/", "+") / path

    def changed(self, name, text):
        path = self.made / f"{name}.py"
        path.write_text(text)
        return path

    def at(self, repository, commit, path, name):
        root = self.folder / repository.replace("/", "+")
        shown = subprocess.run(["git", "-C", str(root), "show", f"{commit}:{path}"], text=True,
                               capture_output=True, check=False)
        return self.changed(name, shown.stdout) if shown.returncode == 0 else root / path


def numbers(text):
    """The numbers M=4096 or M4096 in a shape."""
    return {k: int(v) for k, v in re.findall(r"\b([A-Z][A-Za-z]*)=?(\d+)", text)}


def arrays(text, dtype):
    """The shapes in brackets, lhsT[2048,1024] rhs[..], as inputs."""
    return " ".join(s.replace(",", "x") + ":" + dtype for s in re.findall(r"\[([\d,]+)\]", text))


def dtype_of(shape):
    return DTYPES[re.match(r"\w+", shape).group()]


# ---- NKIBench and what was made from it ---------------------------------------------------------

NKIBENCH_INPUTS = {
    "bmm": "16x4096x64 16x64x4096",
    "bmm_softmax": "16x4096x64 16x64x4096",
    "gqa_full": "32x128x16x128 1x8x4x128x8x128 1x32x128x1024",
    "matmul": "32x128x40x128 40x128x12288",
    "silu": "128x32x7168",
    "adamw": "10944x2048 10944x2048 10944x2048 10944x2048",
    "rope_single_freq_apply": "128x262144 64x262144 64x262144",
    "swiglu": "8x4x128x8x128 8x128x3072 24x128x1024 8x128x3072",
    "matmul_add_rmsnorm": "4096x2048 2048x2048 1e-05 4096x2048 2048",
    "add_rmsnorm_matmul": "4096x1024 1024x2048 1e-05 4096x1024 1024",
    "rmsnorm_matmul": "32x128x1024 8x128x2048",
    "transpose_matmul": "128x16x4096 128x16x10944",
    "lora": "8x4x128x40x128 40x128x12288 40x128x128 128x12288",
    "mamba": "256x7168 256x7168 256x16 16x7168 16x7168",
}


def nkibench(row, csv, checkouts):
    if csv["latency_us_derived"]:
        row.published = float(csv["latency_us"])
    name = pathlib.PurePath(csv["path"])
    operation = name.parts[1] if name.parts[0] == "workspaces" else re.match(
        r"([a-z_]+)_[A-Z]", name.name).group(1)
    row.operation = operation
    row.without = ["dge"]  # NKIBench compiles with --disable-dge
    inputs = " ".join(w if "." in w or "e-" in w else w + ":float32"
                      for w in NKIBENCH_INPUTS[operation].split())
    row.parts = [Part(checkouts.file(csv["repository"], csv["path"]), csv["function"], inputs)]


# ---- attention and MLP, fused and apart ---------------------------------------------------------

def fusion(row, csv, checkouts):
    dtype = dtype_of(csv["shape_dtype"])
    fused = "fused" in csv["function"]
    row.operation = "attention" if "attention" in csv["function"] else "mlp"
    folder = "kernels/fused" if fused else "kernels/baseline"
    if row.operation == "attention":
        sides = re.search(r"\[(\d+),(\d+)\]", csv["shape_dtype"])
        inputs = " ".join([f"{sides[1]}x{sides[2]}:{dtype}"] * 3)
        row.parts = [Part(checkouts.file(csv["repository"], f"{folder}/attention.py"),
                          csv["function"], inputs)]
    else:
        n = numbers(csv["shape_dtype"])
        inputs = f"{n['K']}x{n['M']}:{dtype} {n['K']}x{n['N']}:{dtype} 1x{n['N']}:{dtype}"
        if fused:
            row.parts = [Part(checkouts.file(csv["repository"], f"{folder}/mlp.py"),
                              csv["function"], inputs)]
        else:
            file = checkouts.file(csv["repository"], f"{folder}/mlp_gemm.py")
            row.parts = [Part(file, "gemm_kernel", inputs),
                         Part(file, "gelu_kernel", f"{n['M']}x{n['N']}:{dtype}")]
    if "_profile" in csv["id"]:
        row.harness_us = PROFILE_US


# ---- a course's vector additions, transposes and convolutions -----------------------------------

def course(row, csv, checkouts):
    function, shape = csv["function"], csv["shape_dtype"]
    row.operation = function
    if csv["statistic"] == "single":
        row.harness_us = PROFILE_US
    if function == "fused_conv2d_maxpool":
        dtype = dtype_of(shape)
        pool = re.search(r"pool=(\d)", shape)[1]
        file = checkouts.file(csv["repository"], "part2/conv2d.py")
        row.parts = [Part(file, function, f"{arrays(shape, dtype)} 256:{dtype} pool_size={pool}")]
        return
    file = checkouts.file(csv["repository"], "part1/kernels.py")
    if function == "matrix_transpose":
        row.parts = [Part(file, function, "1024x1024:float32")]
        return
    if function == "matrix_transpose_improved":
        row.why_not = "its size is not stated"
        return
    change = re.search(r"_(rc|fd)(\d+)", csv["id"])
    text = file.read_text() if change and file.exists() else ""
    if change:
        constant = {"rc": "ROW_CHUNK", "fd": "FREE_DIM"}[change[1]]
        text = re.sub(rf"\b{constant} = \d+", f"{constant} = {change[2]}", text)
        file = checkouts.changed(csv["id"], text)
    n = re.search(r"n=(\d+)", shape)[1]
    side = f"{n}x1" if function == "vector_add_tiled" and csv["id"].startswith("xg") else n
    row.parts = [Part(file, function, f"{side}:float32 {side}:float32")]


# ---- matrix products ----------------------------------------------------------------------------

def blocked(row, csv, checkouts):
    row.operation = "blocked_matmul"
    row.harness_us = PROFILE_US
    sizes = " ".join(f"{k}={v}" for k, v in
                     re.findall(r"(TILES_IN_BLOCK_[MNK])=(\d+)", csv["shape_dtype"]))
    row.shape = csv["shape_dtype"].split(" TILES")[0]
    row.parts = [Part(checkouts.file(csv["repository"], csv["path"]), csv["function"],
                      f"{arrays(row.shape, 'float32')} {sizes}")]


def tile_sweep(row, csv, checkouts):
    row.operation, row.level = "tile_sweep", False
    kind, k, n = re.match(r"tal_sweep_(\w+?)_k(\d+)_n(\d+)", csv["id"]).groups()
    row.shape = csv["shape_dtype"]
    maker = checkouts.file(csv["repository"], csv["path"])
    if not maker.exists():
        row.parts = [Part(maker, "kernel", "")]
        return
    texts = {t.targets[0].id: t.value.value for t in ast.parse(maker.read_text()).body
             if isinstance(t, ast.Assign) and isinstance(t.value, ast.Constant)}
    text = texts["HEADER"].format(tm=128, tk=k, tn=n) + texts[kind.upper()]
    inside, result = row.shape.split("->")
    text = text.replace("rhs, result):", "rhs):").replace(
        "  _, N = rhs.shape\n", "  _, N = rhs.shape\n  result = nl.ndarray((M, N), "
        "dtype=lhsT.dtype, buffer=nl.shared_hbm)\n") + "  return result\n"
    text = text.replace("def kernel(", "@nki.jit\ndef kernel(")
    del result
    row.parts = [Part(checkouts.changed(csv["id"], text), "kernel", arrays(inside, "bfloat16"))]


def guide(row, csv, checkouts):
    """The n-th kernel of a page of the documentation."""
    row.operation = "guide_matmul"
    row.harness_us = PROFILE_US
    row.release = "0.2"  # its kernels return tensors in nl.hbm, which NKI 0.3 refuses
    version = int(re.search(r"_v(\d)", csv["id"])[1])
    page = checkouts.file(csv["repository"], "nki/guides/tutorials/kernel-optimization.rst")
    if page.exists():
        found = re.findall(r"\n +@nki\.jit\n +def \w+\(.*?(?=\n\S)", page.read_text(), re.S)
        text = textwrap.dedent(found[version - 1])
        page = checkouts.changed(csv["id"], "import nki\nimport nki.language as nl\n"
                                 "import nki.isa as nisa\n" + text + "\n")
    row.parts = [Part(page, csv["function"], arrays(csv["shape_dtype"].split("(")[0], "float32"))]


AUTOTUNE = {  # id: (commit, path), as the row's source says
    "nat_lhsT_rhs_hand9092": ("0b6f309", "kernel_library/matmul/lhsT_rhs/"
                              "kernel_hand_90.92mfu.py"),
    "nat_lhs_rhs_hand8926": ("0b6f309", "kernel_library/matmul/lhs_rhs/"
                             "kernel_handtuned_89.26mfu.py"),
}
PE_BF16_TFLOPS = 78.6  # the MFU of these rows is relative to this


def autotune(row, csv, checkouts):
    row.operation = "autotune_" + csv["id"].split("_")[1]
    row.measured = row.measured or (
        2 * 2048 ** 3 / (PE_BF16_TFLOPS * 1e6) / row.metrics["mfu_pct"] * 100)
    if csv["id"] not in AUTOTUNE:
        row.why_not = "the file at that commit is not known"
        return
    commit, path = AUTOTUNE[csv["id"]]
    row.parts = [Part(checkouts.at(csv["repository"], commit, path, csv["id"]), csv["function"],
                      "2048x2048:bfloat16 2048x2048:bfloat16")]


def search_trace(row, csv, checkouts):
    """A step of a search, nested in its trace: CodeCandidate(parent=.., code=..)."""
    path, step = re.match(r"autocomp/(\S+?):\d+ .*step (\d+)", csv["source"]).groups()
    row.operation = "search_" + pathlib.PurePath(path).stem
    trace = checkouts.file(csv["repository"], path)
    steps = []
    if trace.exists():
        node = ast.parse(trace.read_text()).body[0].value
        while isinstance(node, ast.Call):
            words = {k.arg: k.value for k in node.keywords}
            steps.insert(0, words["code"].value)
            node = words["parent"]
        imports = ("import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n"
                   "import neuronxcc.nki.isa as nisa\nimport neuronxcc.nki.typing as nt\n"
                   "import numpy as np\nimport math\n")
        code = steps[int(step)].replace(", **kwargs):",
                                        "):\n    kwargs = {'padding': ((0, 0), (1, 1))}")
        trace = checkouts.changed(csv["id"], imports + code)
    shape = csv["shape_dtype"]
    if "q,k,v" in shape:
        inputs = " ".join(["128x4096:bfloat16"] * 3)
    elif "depthwise" in shape:
        inputs = CONV1D_INPUTS
    else:
        inputs = arrays(shape, "bfloat16")
    row.parts = [Part(trace, csv["function"], inputs)]


CONV1D_INPUTS = "8x512x1x2048:float32 512x1x1x3:float32"


# ---- a served model's kernels -------------------------------------------------------------------

EXPERTS = ("1x2048:bfloat16 128x2048x512:bfloat16 128x256x2048:bfloat16 1x8:int32 1x8:float32")
ATTENTION = ("1x1x2048:bfloat16 1024x2048:bfloat16 {kv}x2048:bfloat16 {kv}x2048:bfloat16 {out}"
             "128:bfloat16 128:bfloat16 1x{heads}x640x128:bfloat16 1x{heads}x640x128:bfloat16 "
             "1x128:bfloat16 1x128:bfloat16 1x1:int32")


PLANS_COMMIT = "6df2105"  # has the plans of the 14th version of decode attention


def served(row, csv, checkouts):
    row.harness_us = PROFILE_US
    version = re.match(r"kg_(?:attn|moetkg)_(v\d+)_?(\w*)", csv["id"])
    if csv["id"].startswith("kg_moetkg"):
        row.operation, folder, inputs = "experts", "kernels/moe_tkg/agents", EXPERTS
    else:
        folder = "kernels/attn_tkg/agents"
        whole = "with o-proj" in csv["shape_dtype"]
        row.operation = "decode_attention_oproj" if whole else "decode_attention"
        heads = 1 if whole else 4
        inputs = ATTENTION.format(kv=128 * heads, heads=heads,
                                  out="1024x2048:bfloat16 " if whole else "")
    plan = re.search(r"_v14_plan([GHI])$", csv["id"])
    if plan:
        file = checkouts.at(csv["repository"], PLANS_COMMIT, f"{folder}/v14_plan{plan[1]}.py",
                            csv["id"])
        row.parts = [Part(file, f"qwen3_attn_tkg_fused_oproj_v14{plan[1].lower()}", inputs)]
        return
    root = checkouts.file(csv["repository"], folder)
    stem = version[1] + (version[2] if re.match(r"plan", version[2]) is None else "_" + version[2])
    found = sorted(p for p in root.glob(f"{version[1]}*.py")
                   if csv["function"] and re.search(rf"^def {csv['function']}\(", p.read_text(),
                                                    re.M))
    if not found:
        row.why_not = f"which file of {folder} it is, is not said ({stem})"
        return
    row.parts = [Part(found[0], csv["function"], inputs)]


# ---- kernels of two servers ---------------------------------------------------------------------

KILN = {  # what the id begins with, behind kiln_: file, function, inputs, of the row's number
    "dsa_prefill": ("dsa_prefill", "kiln_dsa_prefill_kernel",
                    "1024x8x512:bfloat16 8448x512:bfloat16 1024x8448:bfloat16 128x128:bfloat16 "
                    "0.0625 1"),
    "dsa_topk": ("dsa_topk", "kiln_dsa_score_topk_kernel",
                 "32x128x1024:bfloat16 1024x32:float32 128x2112:bfloat16 1024x2112:float32 512 "
                 "0.08838834764831845 12 4 1 2 1"),
    "delta_rule": ("delta_rule", "kiln_delta_rule_kernel",
                   "{n}x8x128:float32 {n}x8x128:float32 {n}x8x128:float32 {n}x8x128:float32 "
                   "{n}x8:float32 8x128x128:float32 128x11x128:float32 1 2 1"),
    "kda_decode": ("kda_decode", "kiln_kda_decode_kernel",
                   "66x8x128x128:float32 2x{n}:int32 {n}x8x128:float32 {n}x8x128:float32 "
                   "{n}x8x128:float32 {n}x8x128:float32 {n}x8:float32 128x128:float32 1"),
    "dsa_long_select": ("dsa_long_select", "kiln_dsa_long_select_kernel",
                        "1x128x32x128:bfloat16 1x128x32:float32 1x128x1:float32 "
                        "{n}x128:bfloat16 128x128:bfloat16 512 0.08838834764831845 {sub} 0 7"),
}
LONG_SELECT = {"2112": (2560, "2 1"), "262144": (262144, "16 4")}  # padded pools; sub, its log


def kiln(row, csv, checkouts):
    row.harness_us = HOST_US
    row.operation = csv["id"].removeprefix("kiln_").rsplit("_", 1)[0]
    if csv["id"].startswith("kiln_moe_ep"):
        return kiln_experts(row, csv, checkouts)
    name = next(k for k in KILN if csv["id"].startswith("kiln_" + k))
    file, function, inputs = KILN[name]
    last = re.search(r"_[A-Za-z]+(\d+)$", csv["id"])
    number, sub = LONG_SELECT.get(last[1], (last[1], "")) if last else ("", "")
    row.parts = [Part(checkouts.file(csv["repository"], f"kiln/kernels/{file}.py"), function,
                      inputs.format(n=number, sub=sub))]


def with_rounds(text, rounds):
    """The loops on the device that a number counts which only the data decide, counted."""
    for (count, body), n in rounds.items():
        text = text.replace(f"nl.fori_loop(0, {count}, {body})", f"nl.fori_loop(0, {n}, {body})")
    return text


# Of 9 experts of a rank: (rows, lanes of a first pass, passes of 512 lanes, of as many as the first
# have, whether scales are one per tile). Layers 3 and 20 say how many passes and lanes they have;
# others have uniform routing (tools/probe_moe_ep.py), with which no expert has more than one pass.
PASSES = {"C128": (128, 128, 0, 0, 0), "C1024": (1024, 128, 0, 0, 0), "C4096": (4096, 256, 0, 0, 0),
          "C4096_L3": (4096, 256, 1, 1, 1), "C4096_L20": (4096, 256, 8, 1, 1)}
SCALES = [("9x16x2x8x3x512:bfloat16", "9x8x16x3x512:bfloat16"),
          ("9x16x2x32:float32", "9x16x32:float32")]


def kiln_experts(row, csv, checkouts):
    case = csv["id"].removeprefix("kiln_moe_ep_")
    if case not in PASSES:
        row.why_not = "which experts its 64 rows go to is not published"
        return
    rows, lanes, big, small, tiles = PASSES[case]
    row.level = tiles == 1  # the others were measured with a version that is not said
    file = checkouts.file(csv["repository"], "kiln/kernels/moe_ep.py")
    if file.exists():
        file = checkouts.changed(csv["id"], with_rounds(
            file.read_text(), {("rp", "body"): big, ("rq", "body1"): small}))
    most = (rows * 8 + 9 * 511) // 512
    gate, down = SCALES[tiles]
    row.parts = [Part(file, csv["function"],
                      f"{rows}x4096:bfloat16 {rows}x8:int32 {rows}x8:bfloat16 1x289:int32 "
                      f"9x128x16x2x32x128:uint8 {gate} 9x128x16x4096:uint8 {down} {lanes} 512 "
                      f"{most} 1 10.0 1 1 {tiles}")]


VN = {  # by operation: path (None: the row's), inputs for its number of tokens
    "sinkhorn": (None, "{n}x4x4:float32"),
    "mhc_combine": (None, "{n}x4096:float32 {n}x4x4096:float32 {n}x4x1:float32 {n}x4x4:float32"),
    "router_decode": (None, "{n}x4096:bfloat16 1x4096:bfloat16 4096x288:bfloat16 1x288:float32"),
    "fp8_mlp": ("test/hardware/baselines/dense_0a08ff4/blockwise_fp8_mm.py",
                "{n}x4096:bfloat16 4096x256:float8_e4m3 4096x256:float8_e4m3 "
                "256x4096:float8_e4m3 32x2:float32 32x2:float32 2x32:float32 10.0"),
}
VN_SITES = {"q_b": (1536, 256), "kv_a": (4096, 512), "o": (256, 4096)}


def vllm_neuron(row, csv, checkouts):
    """The rows are slopes of chained calls, or a chain's time by its length (fp8_mm)."""
    row.harness_us = SLOPE_US
    row.measured = row.metrics.get("slope_us_per_call", row.measured)
    row.operation = re.match(r"vn_(.*?)_(before|after|T\d|dense|q_b|kv_a|o_)", csv["id"])[1]
    n = (re.search(r"_(?:T|rows)(\d+)", csv["id"]) or [0, "1"])[1]
    if csv["id"] == "vn_sinkhorn_after_T128":
        row.why_not = "the version of sinkhorn.py that it measures is not stored"
    elif row.operation == "fp8_mm":
        vn_projection(row, csv, checkouts, n)
    elif row.operation == "expert_decode":
        vn_experts(row, csv, checkouts, n)
    else:
        path, inputs = VN[row.operation]
        row.parts = [Part(checkouts.file(csv["repository"], path or csv["path"]), csv["function"],
                          inputs.format(n=n))]


def vn_projection(row, csv, checkouts, n):
    """test/hardware/benchmark_dsa_decode.py times this kernel under those names, eight calls in one
    launch; what the launch takes is not said."""
    row.level, row.harness_us = False, CHAIN_US
    cores = int(csv["id"][-1])
    k, m = VN_SITES[re.match(r"vn_fp8_mm_(\w+)_rows", csv["id"])[1]]
    path = "vllm_neuron/functional/attention/mla_projections.py"
    row.parts = [Part(checkouts.file(csv["repository"], path),
                      f"mla_projection_lowp_kernel[{cores}]",
                      f"{n}x{k}:bfloat16 {k}x{m}:float8_e4m3 "
                      f"{cores}x{k // 128}x{m // 128 // cores}:float32 0")]


def vn_experts(row, csv, checkouts, n):
    file = checkouts.file(csv["repository"], csv["path"])
    if file.exists():
        distinct = csv["id"].rsplit("_", 1)[1]
        file = checkouts.changed(csv["id"], with_rounds(
            file.read_text(), {("count", "visit_expert"): distinct}))
    row.parts = [Part(file, "expert_decode_kernel[2]",
                      f"{n}x4096:bfloat16 {n}x16x18:float32 1x1:int32 "
                      "18x12x128x32x128:float8_e4m3 18x12x32:float32 128x3:float32")]


def unknown(row, csv, checkouts):
    del csv, checkouts
    row.why_not = row.why_not or "nobody wrote down how to run it"


FAMILIES = [("kda_", nkibench), ("accelopt_", nkibench), ("tkf_", fusion), ("xg_", course),
            ("chz_", course), ("rsh_", course), ("rp_", course), ("awsdoc_", guide),
            ("autocomp_", search_trace), ("nat_", autotune), ("tal_blocked_", blocked),
            ("tal_sweep_", tile_sweep), ("kg_", served), ("kiln_", kiln), ("vn_", vllm_neuron),
            ("", unknown)]


def row_of(csv, metrics, checkouts):
    measured = float(csv["latency_us_derived"] or csv["latency_us"] or 0)
    row = Row(csv["id"], csv["function"], csv["shape_dtype"], csv["device"], csv["dialect"],
              measured, metrics)
    driver = next(f for prefix, f in FAMILIES if csv["id"].startswith(prefix))
    driver(row, csv, checkouts)
    if not row.why_not and not all(part.file.exists() for part in row.parts):
        row.why_not = f"no {row.parts[0].file}"
    return row
