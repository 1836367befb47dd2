# SPDX-License-Identifier: Apache-2.0
"""The grammar of the toolchain's lines, on lines of public logs, and what failures mean."""

import unittest

from hone_runner.sdk import advice, grammar

FIX = "Info on how to fix: https://awsdocs-neuron.readthedocs-hosted.com/en/latest/nki.errors.html"

# text, kind, level, place, a part of the text
LINES = [
    ("2025-03-17 22:45:04.000657:  512118  INFO ||NEURON_CC_WRAPPER||: Call compiler with cmd: "
     "neuronx-cc compile x.hlo", "wrapper", "INFO", "NEURON_CC_WRAPPER", "Call compiler with cmd"),
    ("2025-03-17 22:45:04.000657:  512118  INFO ||NEURON_PARALLEL_COMPILE||: Running", "wrapper",
     "INFO",
     "NEURON_PARALLEL_COMPILE", "Running"),
    ("2026-04-13 01:46:33.000003: 837617 [INFO]: Compilation Successfully Completed for "
     "model.MODULE_1.hlo", "wrapper", "INFO", "", "Compilation Successfully Completed"),
    ("2026-03-30 13:32:48 [ERROR]: Failed compilation with ['neuronx-cc', 'compile']: no",
     "wrapper",
     "ERROR", "", "Failed compilation"),
    ("2024-08-15T14:51:19Z USER 3835 [root/Tensorizer/Tensorizer]: Tensorizer finished after "
     "288.153 seconds", "compiler", "USER", "root/Tensorizer/Tensorizer", "Tensorizer finished"),
    ("02/17/2023 04:18:15 PM INFO 57168 [StaticProfiler]: Finished (changed=False)", "compiler",
     "INFO",
     "StaticProfiler", "Finished (changed=False)"),
    ("2025-Oct-01 23:48:34.002260 516278:516285 ERROR  TDRV:exec_request_process_errors   [ND "
     "1][NC 0] execution timeout (30000 ms) on model x.neff", "runtime", "ERROR",
     "exec_request_process_errors",
     "execution timeout (30000 ms)"),
    ("ERRO[0000] Failed to load profile session  NTFF=a.ntff error=\"NTFF version 4 is not "
     "supported in this version of the tool (supported: 1 - 3). Please upgrade "
     "aws-neuronx-tools.\"", "tool", "ERRO", "", "NTFF version 4 is not supported"),
    ("2026-Apr-13 01:46:31.0675 837617:837663 [2] nccl_net_ofi_rdma:219 CCOM WARN NET/OFI Failed "
     "to initialize rdma protocol", "collectives", "WARN", "nccl_net_ofi_rdma:219",
     "rdma protocol"),
    ("0%   10   20   30   40   50   60   70   80   90   100%", "dots", "", "", ""),
    ("|----|----|----|----|----|----|----|----|----|----|", "dots", "", "", ""),
    ("***************************************************", "dots", "", "", ""),
    ("....", "dots", "", "", ""),
    ("anything else", "text", "", "", "anything else"),
]

# text, code, category, a part of the message
CODES = [
    ("[INTERNAL_ERROR] [NCC_ITEN406] Too many partition dimensions detected at "
     "{{0,+,38}[9],+,380}[12]. This is usually due to unsupported (strided) access pattern",
     "NCC_ITEN406", "internal",
     "Too many partition dimensions"),
    ("[INTERNAL_ERROR] [NCC_INKI016] Kernel validation exception: K must be even", "NCC_INKI016",
     "user",
     "K must be even"),
    ("[INTERNAL_ERROR] [NCC_IXLV002] Expected core barriers to have name LocalSendRecv",
     "NCC_IXLV002",
     "internal", "Expected core barriers"),
    ("[INTERNAL_ERROR] [NCC_IXCG856] MATCH_REPLACE8 Instruction expects at least 8 input elements",
     "NCC_IXCG856", "internal", "MATCH_REPLACE8"),
    ("[NCC_IBVF043] Copy activation takes immediate bias only", "NCC_IBVF043", "internal",
     "immediate bias"),
    ("[NCC_ILLC059] Could not find MemoryLocation x:src on core 1", "NCC_ILLC059", "internal",
     "MemoryLocation"),
    ("[ERROR] [NCC_EVRF007] Too many instructions", "NCC_EVRF007", "user", "Too many"),
    ("NCC_IBCG901: BIRCodeGenLoop assertion", "NCC_IBCG901", "internal", "BIRCodeGenLoop"),
    ("[GCA035]  Instruction: I-21-0 with opcode: TensorTensor couldn't be allocated in SB",
     "GCA035",
     "user", "couldn't be allocated"),
    ("[NLA001]  Unhandled exception with message: Allocated memory out of bound {b}@SB<0,400000>",
     "NLA001", "user", "out of bound"),
    ("[TEN404] (_sine.109) Internal tensorizer error: BirCodeGenLoop:Too many strides! x", "TEN404",
     "internal", "Internal tensorizer error"),
    ("[DVR002]  Internal transformation failed", "DVR002", "internal", "transformation failed"),
    ("[F134] neuronx-cc terminated abnormally - Please open a support ticket at https://git.x/y",
     "F134", "crash", "terminated abnormally"),
    ("[F139] neuronx-cc terminated abnormally - Please open a support ticket at https://git.x/y",
     "F139", "crash", "terminated abnormally"),
    ("[F137] neuronx-cc was forcibly killed", "F137", "memory", "forcibly killed"),
    # After dots, after a wrapper's prefix, after the program's own text.
    ("....[NCC_EBVF030] The number of instructions is too large", "NCC_EBVF030", "user",
     "instructions"),
    ("2026-03-30 13:32:48 [ERROR]: Failed compilation with ['neuronx-cc', 'compile']: "
     "2024-08-15T14:01:19Z [TEN404] (_sine.109) Internal", "TEN404", "internal", "Internal"),
    ("Running correctness test ...[GCA035] Instruction: I-21-0", "GCA035", "user", "I-21-0"),
]

TRACES = [
    ("ValueError: number of partitions 256 exceed architecture limitation of 128. "
     + FIX + "#err-num-partition-exceed-arch-limit", "err-num-partition-exceed-arch-limit",
     "number of partitions 256 exceed architecture limitation of 128."),
    ("ValueError: number of partitions mismatch in parameters (data1[128, 8192], data2[1, 8192]) "
     "of 'tensor_tensor'. " + FIX + "#err-num-partition-mismatch", "err-num-partition-mismatch",
     "mismatch in parameters"),
    ("SyntaxError: Mixing basic tensor indexing and advanced tensor indexing is not supported. "
     + FIX + "#err-unsupported-mixing-basic-advanced-tensor-indexing",
     "err-unsupported-mixing-basic-advanced-tensor-indexing", "Mixing basic tensor indexing"),
    ("SyntaxError: operand0's free dimension should be 1 (a vector), got 8192.", "", "got 8192."),
    ("TypeError: Expect type of operand 'bias' of 'activation' in ('tile[nki_dtype, psum|sbuf]', "
     "'NoneType'), but got 'float32' instead.", "", "but got 'float32' instead."),
    ("TypeError: calling function 'var' with unsupported arguments on nki tensor: got an "
     "unexpected keyword argument 'keepdims'; supported signature is x", "", "keepdims"),
]
LEGACY_TRACE = '''Traceback (most recent call last):
  File "/opt/x/site-packages/y.py", line 12, in main
    kernel(a)
  File "neuronxcc/nki/compiler/backends/neuron/TraceKernel.py", line 423, in neuronxcc.nki.expand
  File "neuronxcc/nki/compiler/backends/neuron/TraceKernel.py", line 311, in neuronxcc.nki.call
  File "/home/u/.hone/jobs/j/work/kernel/kernel.py", line 18, in kernel
    x = nl.load(a[i_p, i_f])
        ~~~~~~~^^^^^^^^^^^^^
'''


def read(lines, files=("/w/kernel.py",)):
    reader, found = grammar.Reader(files), []
    for line in lines:
        found += reader.feed(line)
    return found + reader.finish(), reader


class Lines(unittest.TestCase):
    def test_every_form_of_line_is_told_apart(self):
        for text, kind, level, where, part in LINES:
            with self.subTest(text):
                line = grammar.classify(text)
                self.assertEqual((kind, level, where), (line.kind, line.level, line.where))
                self.assertIn(part, line.text)

    def test_codes_are_found_wherever_they_stand(self):
        for text, code, category, part in CODES:
            with self.subTest(text):
                found, _ = read([text])
                errors = [one for one in found if one.kind == "error"]
                self.assertEqual([(code, category)], [(one.code, one.category) for one in errors])
                self.assertIn(part, errors[0].message)
                self.assertNotIn("support ticket", errors[0].message)

    def test_a_message_goes_on_until_a_line_of_another_form(self):
        found, _ = read(["[GCA035]  Instruction: I-21-0 couldn't be allocated in SB",
                         "Memory Location Accessed: ", "res.48_i0: 888 Bytes per Partition",
                         "Compiler status ERROR", "not part of it"])
        self.assertIn("888 Bytes", found[0].message)
        self.assertNotIn("Compiler status", found[0].message)
        self.assertNotIn("not part", found[0].message)

    def test_an_envelope_yields_to_the_cause_within(self):
        found, _ = read(["[F134] neuronx-cc terminated abnormally",
                         "[INTERNAL_ERROR] [NCC_ITEN406] x"])
        self.assertEqual(["NCC_ITEN406"], [one.code for one in grammar.causes(found)])
        found, _ = read(["[F134] neuronx-cc terminated abnormally"])
        self.assertEqual(["F134"], [one.code for one in grammar.causes(found)])

    def test_the_same_error_is_told_once(self):
        found, _ = read(["[NCC_EVRF007] Too many", "other line", "[NCC_EVRF007] Too many"])
        self.assertEqual(1, sum(one.kind == "error" for one in found))

    def test_progress_is_the_last_pass(self):
        _, reader = read(["2024-08-15T14:51:19Z INFO 1 [root]: Running SBAllocator",
                          "2024-08-15T14:51:19Z USER 1 [root]: Tensorizer finished after 288.1 "
                          "seconds",
                          "birverifier failed after 0.154 seconds"])
        self.assertEqual("birverifier", reader.stage)

    def test_exit_codes_cached_failures_and_sizes_are_noted(self):
        _, reader = read(["Subcommand returned with exitcode=70",
                          "BirCodeGen estimate #instances=665013 in sg0000",
                          "Got a cached failed neff at /var/tmp/x. Will skip compilation"])
        self.assertEqual((70, True, 665013),
                         (reader.exit_status, reader.cached_failure, reader.instances))
        self.assertEqual(-9, read(["Error: -9"])[1].exit_status)
        self.assertEqual(70, read(["neuronx-cc compilation failed with 70"])[1].exit_status)

    def test_any_input_is_survived(self):
        for line in ("\x00\x1b[31m[", "[" * 5000, "[NCC_E", "{" * 3000, "a" * 100000, "\ud800"):
            read([line] * 3)


class Tracebacks(unittest.TestCase):
    def test_the_last_frame_in_the_kernel_is_the_place(self):
        for final, slug, part in TRACES:
            with self.subTest(final):
                found = grammar.read_trace(LEGACY_TRACE + final, ["/w/kernel.py"])
                self.assertEqual((18, slug, "trace"), (found.line, found.code, found.category))
                self.assertIn(part, found.message)
                self.assertNotIn("Info on how to fix", found.message)
                logged, _ = read((LEGACY_TRACE + final).split("\n"))
                self.assertEqual(18, logged[0].line)

    def test_a_place_in_the_text_serves_where_no_frame_does(self):
        final = "SyntaxError: local variable 'r' is referenced outside of its parent scope " \
            "(if/else block at f/home/u/kernel.py:71)!"
        text = 'Traceback (most recent call last):\n  File "a.py", line 3, in b\n' + final
        self.assertEqual(71, grammar.read_trace(text, ["/w/kernel.py"]).line)

    def test_a_call_stack_within_the_message_is_read(self):
        text = LEGACY_TRACE.replace("kernel.py", "other.py") + \
            'NkiError: bad shape\n  File "/w/kernel.py", line 7, in kernel\n    x = y'
        self.assertEqual(7, grammar.read_trace(text, ["/w/kernel.py"]).line)

    def test_a_failed_compiler_is_not_the_cause_when_its_code_is_known(self):
        final = "RuntimeError: Compilation failed for test with error Command '['neuronx-cc', " \
            "'--target', 'trn1']' returned non-zero exit status 70."
        trace = grammar.read_trace(LEGACY_TRACE + final, ["/w/kernel.py"])
        code = read(["[INTERNAL_ERROR] [NCC_ITEN406] Too many"])[0]
        self.assertEqual(["NCC_ITEN406"], [one.code for one in grammar.causes([trace] + code)][:1])

    def test_a_code_within_the_message_names_it(self):
        found = grammar.read_trace(LEGACY_TRACE + "NCCError: [NCC_EVRF007] too many",
                                   ["/w/kernel.py"])
        self.assertEqual(("NCC_EVRF007", "user"), (found.code, found.category))


class Statuses(unittest.TestCase):
    def test_every_spelling_is_read(self):
        for text, number in [
                ("NRT Error NRT_EXEC_OOB(1006): Failed to execute model", 1006),
                ("nrt_load status=1, error message=\"Non specific failure\"", 1),
                ("nrt_infodump Failure: NRT_EXEC_OOB in nrt_execute()", 1006),
                ("Inference completed with err: 1004", 1004), ("NRT_TIMEOUT", 5)]:
            with self.subTest(text):
                self.assertEqual(number, grammar.find_status(text)[0])

    def test_states_and_success_are_no_failure(self):
        self.assertIsNone(grammar.find_status("Unexpected runtime state: NRT_STATE_START"))
        self.assertIsNone(grammar.find_status("NRT_SUCCESS(0)"))


class Advice(unittest.TestCase):
    ROWS = [
        ("NRT:nrt_allocate_neuron_cores  NeuronCore(s) not available - Requested:nc1-nc1 "
         "Available:0",
         "busy", "busy"),
        ("Logical Neuron Core(s) not available", "busy", "busy"),
        ("Unable to determine Neuron Driver version", "driver", "environment"),
        ("TDRV:tdrv_get_dev_info  No neuron device available", "driver", "environment"),
        ("Could not open the nd3", "driver", "environment"),
        ("Failed to initialize devices, error:5", "driver", "environment"),
        ("Could not find VNC id 3", "lnc", "environment"),
        ("NEFF version mismatch supported: 1.1 received: 2.0", "neff-version", "environment"),
        ("NTFF version 4 is not supported in this version of the tool", "ntff-version",
         "environment"),
        ("execution timeout (30000 ms) on model", "hang", "kernel"),
        ("(FATAL-RT-UNDEFINED-STATE) inference timeout", "hang", "kernel"),
        ("Missing infer_status notification", "hang", "kernel"),
        ("failed to run scatter/gather (indirect memory copy via vector DGE), due to out-of-bound "
         "access", "out-of-bounds", "kernel"),
        ("TDRV:dmem_alloc_internal  Failed to alloc DEVICE memory: 10485760", "device-memory",
         "kernel"),
        ("Wrote nrt memory alloc debug info to /tmp/nrt_mem_log_device_0.csv", "device-memory",
         "kernel"),
        ("[F137] neuronx-cc was killed", "host-memory", "kernel"),
        ("Uncorrectable memory error", "hardware", "hardware"),
        ("NEURON_HW_ERR=x action=TERMINATE_INSTANCE", "hardware", "hardware"),
        ("NRT_EXEC_HW_ERR_HBM_UE(1201)", "hardware", "hardware"),
        ("nrt_execute status=101", "hardware", "hardware"),
        ("nrt_load status=9", "busy", "busy"),
        ("ERROR_PROCESS_INCOMPLETE", "processing", "environment"),
    ]

    def test_every_failure_of_the_table_has_its_sentence(self):
        for text, name, kind in self.ROWS:
            with self.subTest(text):
                found = advice.explain(text, 1)
                self.assertEqual((name, kind), (found.id, found.kind))
                self.assertTrue(found.text)

    def test_the_noise_of_an_exit_means_nothing_after_success(self):
        noise = "ERROR NRT:nrt_close Unexpected runtime state: NRT_STATE_START"
        self.assertEqual("noise", advice.explain(noise, 0).kind)
        self.assertIsNone(advice.explain(noise, 1))
        self.assertTrue(advice.is_harmless(noise))

    def test_lines_that_say_error_and_mean_nothing(self):
        for line in ("ERRO[0012] Unable to process node with uid 1 for exec 6",
                     "ERRO[0110] invalid DMA duration - transfer rate is invalid",
                     "ERRO[0183] Unable to convertToInt64 x",
                     "ERRO[0008] hw profiler overview not found"):
            self.assertTrue(advice.is_harmless(line))

    def test_a_kill_without_words_is_memory(self):
        self.assertEqual("host-memory", advice.explain("", 137).id)
        self.assertIsNone(advice.explain("", 1))


if __name__ == "__main__":
    unittest.main()
