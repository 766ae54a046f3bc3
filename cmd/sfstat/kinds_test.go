package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// outcome is what the program makes of what somebody has, asked without any flag.
type outcome string

const (
	answered outcome = "answered" // what it shows stands on the screen
	partly   outcome = "partly"   // it is read right, and does not hold the answer
	asked    outcome = "asked"    // it is refused, with what to say or to do
)

// kindOf is one of the kinds of logs, texts and screens with which people ask who is slow or missing.
type kindOf struct {
	name    string
	files   map[string]string
	outcome outcome
	exit    int
	says    []string // on the screen, blanks as they come
	not     []string // not on the screen
}

// linesOf returns n lines.
func linesOf(n int, line func(i int) string) string {
	var out strings.Builder
	for i := range n {
		out.WriteString(line(i) + "\n")
	}
	return out.String()
}

// timedOut returns what the watchdog says of ranks that wait in a call.
func timedOut(call int, ranks ...int) string {
	return linesOf(len(ranks), func(i int) string {
		return fmt.Sprintf("[rank%[1]d]:[E301 10:00:00.000000000 ProcessGroupNCCL.cpp:616] [Rank %[1]d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=%[2]d, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for 600020 milliseconds before timing out.", ranks[i], call)
	})
}

// smi returns the rows of a GPU on nvidia-smi's screen.
func smi(gpu, watts, percent int) string {
	return fmt.Sprintf("|   %d  NVIDIA A100-SXM4-80GB          On  | 00000000:%02d:00.0 Off |                    0 |\n| N/A   31C    P0             %3dW / 400W |  65000MiB / 81920MiB |    %3d%%      Default |\n", gpu, gpu+1, watts, percent)
}

// bandwidths returns what nccl-tests prints of eight GPUs on each of some hosts.
func bandwidths(hosts int, busbw float64) string {
	text := "# nThread 1 nGpus 1 minBytes 268435456 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n" + linesOf(8*hosts, func(i int) string {
		return fmt.Sprintf("#  Rank %2d Group  0 Pid  %d on      n%d device  %d [0x07] NVIDIA A100", i, 100+i, i/8, i%8)
	}) + "#\n#                                                              out-of-place                       in-place\n" +
		"#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n" +
		"#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
	ranks := float64(8 * hosts)
	for _, size := range []int{1 << 28, 1 << 29, 1 << 30} {
		alg := busbw * ranks / (2 * (ranks - 1))
		one := fmt.Sprintf("%9.1f %7.2f %7.2f      0", float64(size)/alg/1e3, alg, busbw)
		text += fmt.Sprintf("%12d %12d     float     sum      -1 %s %s\n", size, size/4, one, one)
	}
	return text + fmt.Sprintf("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : %g\n", busbw)
}

// wired returns NCCL's log of 16 ranks on two hosts, without calls.
func wired(between string) string {
	return linesOf(16, func(r int) string {
		way, next, host := "P2P/CUMEM/read", (r+1)%16, "ab"[r/8:r/8+1]
		if next%8 == 0 {
			way = between
		}
		head := fmt.Sprintf("%s:%d:%d [%d] NCCL INFO ", host, 100+r, 100+r, r%8)
		return head + fmt.Sprintf("comm 0x5500%02x rank %d nranks 16 cudaDev %d busId %d000 commId 0xabc - Init COMPLETE\n", r, r, r%8, r%8+1) +
			head + fmt.Sprintf("Channel 00/0 : %d[%d] -> %d[%d] [send] via %s", r, r%8, next, next%8, way)
	})
}

// oneFile returns a file as the only one.
func oneFile(name, text string) map[string]string { return map[string]string{name: text} }

func kinds() []kindOf {
	const deepSpeed = "[2024-01-02 10:00:00,000] [INFO] [logging.py:68:log_dist] [Rank 0] %stime (ms) | forward: %d.10 | backward: %d.20 | backward_inner: %d.00 | backward_allreduce: %d.10 | step: %d.30"
	dumpSignal := func(rank int) string {
		return fmt.Sprintf("[rank%[1]d]:[E301 10:00:00 ProcessGroupNCCL.cpp:1858] [PG ID 0 PG GUID 0(default_pg) Rank %[1]d] Received a dump signal due to a collective timeout from  rank 1 and we will try our best to dump the debug info. Last enqueued NCCL work: 460631, last completed NCCL work: 460630.", rank)
	}
	print := func(rank, number int) string {
		return fmt.Sprintf("Rank %d is running collective: CollectiveFingerPrint(SequenceNumber=%d, OpType=ALLREDUCE, TensorShape=[10], TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default)))", rank, number)
	}
	stack := func(rank int) string {
		in := "all_gather_into_tensor (torch/distributed/distributed_c10d.py:2709)"
		if rank == 5 {
			in = "forward (model.py:12)"
		}
		return fmt.Sprintf("Process %d: python train.py\nPython v3.10.12 (/usr/bin/python3.10)\n\nThread %d (active): \"MainThread\"\n    %s\n    train_step (train.py:40)\n    main (train.py:50)\n", 100+rank, 100+rank, in)
	}
	const stalled = "[1,0]<stderr>:[2024-01-02 10:00:00.000001: W horovod/common/stall_inspector.cc:105] One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds.\n"
	return []kindOf{
		{"a watchdog, one rank silent", oneFile("train.log", timedOut(1132079, 1, 2, 3)), answered, 0, []string{"rank 0 reports nothing, others wait in allreduce #1132079", "3 ranks waiting for 600 s", "[ambiguous]", "TORCH_NCCL_DUMP_ON_TIMEOUT=1"}, nil},
		{"dump signals of two ranks", oneFile("train.log", dumpSignal(2)+"\n"+dumpSignal(7)+"\n"), answered, 0, []string{"no rank that reports is behind in call #460631", "give the logs of all ranks"}, []string{"never entered"}},
		{"a watchdog, different calls", oneFile("train.log", timedOut(7559, 0)+timedOut(7561, 1)), answered, 0, []string{"rank 0 never entered allreduce #7561", "it got to call #7559"}, nil},
		{"a watchdog, all the same", oneFile("train.log", timedOut(808, 0, 1, 2, 3)), answered, 0, []string{"no rank that reports is behind in allreduce #808"}, []string{"never entered"}},
		{"py-spy of all processes", oneFile("dump.txt", linesOf(8, stack)), answered, 0, []string{"main thread of rank 5 is in forward (model.py:12), those of 7 others", "nothing tells which rank a process is"}, nil},
		{"nvidia-smi's screen", oneFile("screen.txt", "| NVIDIA-SMI 535.104.05             Driver Version: 535.104.05   CUDA Version: 12.2     |\n"+smi(0, 77, 0)+smi(1, 300, 100)+smi(2, 300, 100)+smi(3, 305, 100)), answered, 0,
			[]string{"GPU 0 computes 0 % of the time at 77 W, 3 others 90 % or more", "they may wait in a collective"}, []string{"rank 0"}},
		{"sec/step", oneFile("train.log", linesOf(58, func(i int) string {
			return fmt.Sprintf("ep 1 train, step %d, ctc 3.29, num_seqs 12, mem_usage:cuda:1 7.2GB, 0.693 sec/step, elapsed 0:00:52, exp. remaining 1:22:12", i)
		})), partly, 0, []string{"One rank: a step takes 693 ms", "Nobody can be compared", "steps 0–57"}, nil},
		{"torchtitan", oneFile("train.log", linesOf(20, func(i int) string {
			return fmt.Sprintf("[rank0]:[titan] 2025-03-01 10:00:%02d,512 - root - INFO - step: %2d  loss: 10.9314  memory: 42.10GiB(53.22%%)  wps: 3,010  mfu: 38.51%%", 2*i, 10*i+10)
		})), partly, 0, []string{"One rank: a step takes 200 ms", "Nobody can be compared", "steps 20–200"}, nil},
		{"verl", oneFile("train.log", linesOf(6, func(i int) string {
			return fmt.Sprintf("(TaskRunner pid=7) step:%d - actor/grad_norm:0.07 - timing_s/gen:%d.020 - timing_s/ref:3.4 - timing_s/update_actor:14.3 - timing_s/step:%d.5", i+1, 71+i, 94+i)
		})), answered, 0, []string{"gen takes 73.5 s of a 97.0 s step (76 %)", "update_actor 14.3"}, nil},
		{"DeepSpeed, its optimizer", oneFile("train.log", linesOf(6, func(i int) string { return fmt.Sprintf(deepSpeed, "", 200, 1100, 1060, 40, 38700+i) })), answered, 0, []string{"the optimizer step takes 38.7 s of a 40.0 s step (97 %)"}, nil},
		{"DeepSpeed, its all-reduce", oneFile("train.log", linesOf(8, func(i int) string { return fmt.Sprintf(deepSpeed, "rank=0 ", 310, 744, 514, 230, 60+i%2) })), answered, 0, []string{"backward takes 514 ms", "backward_allreduce 230.1"}, nil},
		{"Megatron, slower later", oneFile("train.log", linesOf(8, func(i int) string {
			step, took := 142+i, 102000+100*(i%3)
			if i >= 4 {
				step, took = 178+i, took+26000
			}
			return fmt.Sprintf(" iteration      %d/    5000 | consumed samples:          256 | elapsed time per iteration (ms): %d.1 | learning rate: 1e-4 | global batch size: 64 |", step, took)
		})), answered, 0, []string{"From step 182 on the whole step takes 128 s, 102 s before", "8 steps in 2 windows, shown: window 0 (steps 142–145)"}, []string{"0–7"}},
		{"Lightning's profiler", oneFile("profile.txt", "Profiler Report\n\nAction              \t|  Mean duration (s)\t|Num calls      \t|  Total time (s) \t|  Percentage %   \t|\n-------------\nTotal               \t|  -              \t|_              \t|  100.0          \t|  100 %          \t|\n-------------\n"+
			"run_training_epoch  \t|  95.0           \t|1              \t|  95.0           \t|  95.0           \t|\nrun_training_batch  \t|  0.4            \t|100            \t|  40.0           \t|  40.0           \t|\n"+
			"optimizer_step_and_closure_0\t|  0.39           \t|100            \t|  39.0           \t|  39.0           \t|\nget_train_batch     \t|  0.5            \t|100            \t|  50.0           \t|  50.0           \t|\n"+
			"model_backward      \t|  0.2            \t|100            \t|  20.0           \t|  20.0           \t|\nmodel_forward       \t|  0.1            \t|100            \t|  10.0           \t|  10.0           \t|\n"),
			answered, 0, []string{"data takes 500 ms of a 900 ms step (56 %)", "one step stands for the mean of 100", "model.backward_cpu_wall 200.0"}, nil},
		{"two bare columns", oneFile("times.txt", linesOf(40, func(i int) string {
			if i%8 == 0 {
				return "33.2 113.5"
			}
			return "0.0007 0.585"
		})), asked, 2, []string{"2 columns of numbers without a header: what are they?", "--columns data,step"}, nil},
		{"YOLOX", oneFile("train.log", linesOf(6, func(i int) string {
			return fmt.Sprintf("2021-08-01 10:00:00 | INFO     | yolox.core.trainer:253 - epoch: 1/300, iter: %d/925, mem: 8120Mb, iter_time: %.3fs, data_time: %.3fs, total_loss: 12.1, lr: 1.0e-04, size: 640", 240+10*i, 8.7+float64(i)/100, 8.4+float64(i)/100)
		})), answered, 0, []string{"data takes 8.43 s of a 8.72 s step (97 %)", "steps 240–290"}, nil},
		{"Horovod's stall behind steps", oneFile("rank_0.log", linesOf(6, func(i int) string {
			return fmt.Sprintf("[1,%d]<stdout>:INFO:root:[step %d] loss=1.40 throughput=14.5K tks/s time=369%d.70, latency=369%d.7 ms/batch", i%3, 99+100*(i/3), i%3, i%3)
		})+stalled+"[1,0]<stderr>:Stalled ranks:\n[1,0]<stderr>:6: [allreduce.a, allreduce.b ...]\n"), answered, 0, []string{"rank 6 never entered allreduce.a", "step.whole 3.69"}, []string{"3694 s", "3.69e", "logged twice"}},
		{"Horovod's missing ranks", oneFile("out.log", strings.Replace(stalled, "stall_inspector.cc:105", "operations.cc:588", 1)+"[1,0]<stderr>:Stalled ops:HorovodBroadcast_x_0 [missing ranks: 1]\n"), answered, 0, []string{"rank 1 never entered HorovodBroadcast_x_0"}, []string{"JSON"}},
		{"fingerprints that differ", oneFile("err.log", "[rank1]: RuntimeError: Detected mismatch between collectives on ranks. "+print(1, 1435)+", but "+print(2, 1436)+".Collectives differ in the following aspects: Sequence number: 1435vs 1436\n"), answered, 0, []string{"rank 1 never entered allreduce #1436", "it got to call #1435"}, nil},
		{"bandwidths of pairs of nodes", oneFile("pairs.txt", "n1,n4     49.4\nn2,n3     88.4\nn3,n4     49.3\nn1,n2     87.0\n"), answered, 0, []string{"n4 reaches 49.4 GB/s at most, with 2 others, and the nodes in the middle 88.4 GB/s"}, nil},
		{"nccl-tests by the number of nodes", map[string]string{"all_reduce_1.txt": bandwidths(1, 231), "all_reduce_2.txt": bandwidths(2, 57), "all_reduce_3.txt": bandwidths(3, 32), "all_reduce_4.txt": bandwidths(4, 30)}, answered, 0,
			[]string{"8 ranks on 1 host reaches a bus bandwidth of 231.0 GB/s", "2 hosts reaches a bus bandwidth of 57.0 GB/s", "3 hosts reaches a bus bandwidth of 32.0 GB/s", "4 hosts reaches a bus bandwidth of 30.0 GB/s"}, nil},
		{"NCCL's wiring", oneFile("nccl.log", wired("NET/IB/0")), partly, 0, []string{"Between nodes all channels go over NET/IB", "INIT,COLL,TUNING", "sfstat hang says who is behind"}, []string{"which is TCP"}},
		{"NCCL's wiring over TCP", oneFile("nccl.log", wired("NET/Socket/0")), answered, 0, []string{"Between nodes all channels go over NET/Socket, which is TCP, and not over InfiniBand"}, nil},
		{"a kernel's log with an Xid", oneFile("dmesg.txt", "[ 5000.100000] pcieport 0000:00:03.0: AER: Corrected error received: 0000:03:00.0\n[ 5000.200010] NVRM: Xid (PCI:0000:03:00): 79, pid=0, GPU has fallen off the bus.\n"), answered, 0, []string{"The kernel reported Xid 79: NVRM: Xid (PCI:0000:03:00): 79", "whether it slowed the job is not shown"}, nil},
		{"a lost GPU without an Xid", oneFile("dmesg.txt", "[  100.000001] NVRM: The NVIDIA GPU 0000:b3:00.0\n               NVRM: (PCI ID: 10de:26b5) installed in this system has\n               NVRM: fallen off the bus and is not responding to commands.\n"), answered, 0, []string{"NVRM: GPU 0000:b3:00.0 has fallen off the bus"}, []string{"JSON", "Xid 79"}},
		{"JAX's barrier", oneFile("err.log", "jax.errors.JaxRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Id: start::0. # of tasks that reached the barrier: 2/4. The first task at the barrier: /job:jax_worker/replica:0/task:1. Some timed out task names:\n/job:jax_worker/replica:0/task:3\n/job:jax_worker/replica:0/task:0\n"), answered, 0, []string{"ranks 0 and 3 never entered barrier of JAX"}, nil},
		{"mmcv, slow at first", oneFile("train.log", linesOf(15, func(i int) string {
			took, data := 0.7, 0.02
			if i == 0 {
				took, data = 6.43, 5.76
			}
			return fmt.Sprintf("2021-08-17 10:23:12,345 - mmcls - INFO - Epoch [1][%d/5005]\tlr: 1.000e-01, eta: 1 day, 10:00:00, time: %.3f, data_time: %.3f, memory: 7090, loss: 6.9", 100*i+100, took, data)
		})), partly, 0, []string{"a step takes 700 ms", "the first, of 6.44 s, is start-up", "steps 100–1500"}, nil},
	}
}

// Whatever people have, the program says what it shows: nothing is refused without a way to go on, and nothing said is false.
func TestKinds(t *testing.T) {
	count := map[outcome]int{}
	all := kinds()
	for _, k := range all {
		t.Run(k.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "job") // t's own tells a rank
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			path := dir
			for name, text := range k.files {
				to := filepath.Join(dir, name)
				if len(k.files) == 1 {
					path = to
				}
				if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			var screen bytes.Buffer
			code := run([]string{"sfstat", path}, nil, &screen, &screen)
			said, good := strings.Join(strings.Fields(screen.String()), " "), code == k.exit
			for _, text := range k.says {
				good = good && strings.Contains(said, text)
			}
			for _, text := range append(k.not, "Supported: packets", "unrecognized input") {
				good = good && !strings.Contains(said, text)
			}
			if !good {
				t.Errorf("exit code %d, want %d, with %q, without %q:\n%s", code, k.exit, k.says, k.not, screen.String())
				return
			}
			count[k.outcome]++
		})
	}
	if len(all) != 26 || count[answered] < 18 || count[answered]+count[partly]+count[asked] != len(all) {
		t.Errorf("of %d kinds %v", len(all), count)
	}
}
