package stagemap

import (
	"strconv"
	"strings"
)

// builtin returns the rules for names that need no telling.
func builtin() []rule {
	rules := []rule{
		// torch.utils.data and torch.optim, by torch.profiler itself
		{how: prefix, pattern: "enumerate(DataLoader)#", stage: Data},
		{how: prefix, pattern: "enumerate(DataPipe)#", stage: Data},
		{how: prefix, pattern: "Optimizer.step#", stage: Optimizer, yields: true},
		{how: prefix, pattern: "Optimizer.zero_grad#", stage: Optimizer},
		// wrappers of torch.distributed
		{how: prefix, pattern: "DistributedDataParallel.forward", stage: Forward},
		{how: prefix, pattern: "FullyShardedDataParallel.forward", stage: Forward},
		{how: prefix, pattern: "FSDP::root_pre_forward", stage: Forward},
		{how: prefix, pattern: "autograd::engine::evaluate_function", stage: Backward, background: true},
		{how: prefix, pattern: "FullyShardedDataParallel._pre_backward_hook", stage: Backward, background: true},
		{how: prefix, pattern: "FullyShardedDataParallel._post_backward_hook", stage: Backward, background: true},
		{how: prefix, pattern: "FSDP::pre_backward", stage: Backward, background: true},
		{how: prefix, pattern: "FSDP::post_backward", stage: Backward, background: true},
	}
	for _, r := range []struct { // what Lightning's own profiler names
		pattern, stage string
		yields         bool
	}{
		{"*dataloader_next", Data, false},
		{"*.training_step", Forward, false},
		{"run_training_step", Forward, false},
		{"*.backward", Backward, false},
		{"*.optimizer_step", Optimizer, true},
		{"*.optimizer_zero_grad", Optimizer, false},
		{"*.on_before_optimizer_step", Callbacks, false},
		{"*Callback*", Callbacks, false},
	} {
		rules = append(rules, rule{how: glob, pattern: lightning + r.pattern, stage: r.stage, yields: r.yields})
	}
	for _, w := range plain {
		for _, word := range w.words {
			rules = append(rules, rule{how: words, pattern: word, stage: w.stage, yields: w.stage == Optimizer})
		}
	}
	return rules
}

// lightning begins what pytorch_lightning's PyTorchProfiler records.
const lightning = "[pl][profile]"

// plain are the words that people write into record_function and NVTX ranges,
// and the timers of Megatron-LM.
var plain = []struct {
	stage string
	words []string
}{
	{Data, []string{"data", "data_load", "data load", "data_loading", "data loading", "dataloader", "dataload", "load_batch", "load batch",
		"wait_for_batch", "get_batch", "get batch", "next_batch", "next batch", "fetch_batch", "batch-generator", "batch_generator",
		"data_wait", "data wait", "dataloader next", "copy_batch_to_device", "data_fetch"}},
	{Forward, []string{"forward", "fwd", "forward pass", "forward_pass", "model forward", "model_forward", "forward_step", "forward step",
		"forward-compute", "train/forward", "model.forward", "fwd_loss", "forward_loss", "loss", "compute_loss", "criterion"}},
	{Backward, []string{"backward", "bwd", "backward pass", "backward_pass", "backward_step", "backward step", "backward-compute",
		"train/backward", "loss.backward", "loss_backward"}},
	{Callbacks, []string{"callbacks", "callback", "logging", "log_metrics", "metrics", "recmetrics_update", "checkpoint", "save_checkpoint"}},
	{Optimizer, []string{"optimizer", "optimizer step", "optimizer_step", "optimizer.step", "optim", "optim_step", "optim.step",
		"opt_step", "optimizer-inner-step", "train/optimizer", "zero_grad", "optimizer.zero_grad", "clip_grad_norm", "clip_grad",
		"lr_scheduler", "scheduler.step"}},
}

// markOf reads the marks of steps. O(len(name)).
func markOf(name string) Mark {
	if n, ok := strings.CutPrefix(name, "ProfilerStep#"); ok {
		if number, ok := decimal(n); ok {
			return Mark{ProfilerMark, number}
		}
		return Mark{ProfilerMark, -1}
	}
	switch name {
	case lightning + "run_training_batch", lightning + "[_TrainingEpochLoop].run_training_batch":
		return Mark{WrapperMark, -1}
	}
	words := plainWords(name)
	switch words {
	case "train_step", "training_iteration", "train step", "iteration", "train_iteration", "train_batch":
		return Mark{WrapperMark, -1}
	}
	for _, stem := range []string{"iteration", "train_step", "training_step", "train step", "training step", "global_step", "global step", "iter", "step", "batch"} {
		rest, ok := strings.CutPrefix(words, stem)
		if !ok {
			continue
		}
		if number, ok := decimal(strings.TrimLeft(rest, " #_:=")); ok {
			return Mark{NumberedMark, number}
		}
	}
	return Mark{}
}

// decimal returns a number of digits alone.
func decimal(s string) (int64, bool) {
	if s == "" || s[0] < '0' || s[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}
