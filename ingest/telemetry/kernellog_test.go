package telemetry

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/trace/health"
	"github.com/sfstat/sfstat/trace/nccl"
)

const fell = "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."

func TestKernelLog(t *testing.T) {
	const at = 1795351500e9
	xid := health.Event{Kind: health.XidError, Code: 79, Bus: 0x3b << 12, Device: -1, Text: fell}
	on := func(e health.Event, host string, at int64) health.Event {
		e.Host, e.At = host, at
		return e
	}
	for _, c := range []struct {
		name, text string
		want       []health.Event
	}{
		{"dmesg", "[    0.000000] Linux version 6.8.0\n[ 1234.567890] " + fell + "\n", []health.Event{xid}},
		{"dmesg -T", "[Sun Nov 22 12:44:59 2026] usb 1-1: new device\n[Sun Nov 22 12:45:00 2026] " + fell + "\n", []health.Event{on(xid, "", at)}},
		{"dmesg --time-format iso", "2026-11-22T12:44:59,000000+00:00 usb 1-1: new device\n2026-11-22T13:45:00,000000+01:00 " + fell + "\n", []health.Event{on(xid, "", at)}},
		{"syslog", "Nov 22 12:44:59 h2 kernel: [ 1.0] usb 1-1: new device\nNov 22 12:45:00 h2 kernel: [ 2.0] " + fell + "\n", []health.Event{on(xid, "h2", at)}},
		{"journalctl -o short-iso", "2026-11-22T12:44:59+0000 h2 kernel: usb 1-1: new device\n2026-11-22T13:45:00+0100 h2 kernel: " + fell + "\n", []health.Event{on(xid, "h2", at)}},
		{"journalctl -o short-unix", "1795351499.0 h2 kernel: usb 1-1: new device\n1795351500.000 h2 kernel: " + fell + "\n", []health.Event{on(xid, "h2", at)}},
		{"nothing of the kind", "[    0.000000] Linux version 6.8.0\n", nil},
		{"others", "[1.0] mce: [Hardware Error]: Machine check\n[2.0] Out of memory: Killed process 12 (python)\n[3.0] CPU3: Core temperature above threshold, cpu clock throttled (total events = 1)\n[4.0] mlx5_core 0000:17:00.0 eth2: Link Down\n", []health.Event{
			{Kind: health.MachineCheck, Device: -1, Text: "mce: [Hardware Error]: Machine check"},
			{Kind: health.OutOfMemory, Device: -1, Text: "Out of memory: Killed process 12 (python)"},
			{Kind: health.CPUOverheated, Device: -1, Text: "cpu clock throttled (total events = 1)"},
			{Kind: health.LinkDown, Device: -1, Text: "Link Down"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !KernelLog.Recognises([]byte(c.text)) {
				t.Error("not recognised")
			}
			got, err := Read(strings.NewReader(c.text), "kern.log", KernelLog, Options{Written: time.Date(2027, 1, 3, 0, 0, 0, 0, time.UTC)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Events); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDamagedKernelLog(t *testing.T) {
	got, err := Read(strings.NewReader("[1.0] NVRM: Xid (PCI:0000:3b:00\n[2.0] NVRM: Xid (PCI:0000:3b:00): none\n[3.0] "+fell+"\n"), "x", KernelLog, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Events) != 1 || len(got.Notes) != 1 {
		t.Errorf("%d events and notes %v, expected one of each", len(got.Events), got.Notes)
	}
}

// TestOthers: logs that are no kernel's are not taken for one.
func TestOtherLogs(t *testing.T) {
	for _, text := range []string{
		"[2026-11-22 12:00:00] INFO starting\n[2026-11-22 12:00:01] INFO step 1\n",
		"2026-11-22T12:00:00+00:00 INFO step 1\n",
		"h2:1:1 [0] NCCL INFO Bootstrap\n",
		"name,value\n[x],1\n",
		"[4] step 0 3.967 it/s loss 2.2\n[6] step 0 3.961 it/s loss 2.2\n",
	} {
		if KernelLog.Recognises([]byte(text)) {
			t.Errorf("%q was recognised", text)
		}
	}
}

func FuzzKernelLog(f *testing.F) {
	f.Add("[ 1234.567890] " + fell + "\n")
	f.Add("Nov 22 12:45:00 h2 kernel: [ 2.0] " + fell + "\n")
	f.Add("<4>[1.0] x\n")
	f.Fuzz(func(t *testing.T, text string) {
		KernelLog.Recognises([]byte(text))
		if _, err := Read(strings.NewReader(text), "x", KernelLog, Options{}); err != nil && !strings.HasPrefix(err.Error(), "x") {
			t.Errorf("%v: does not name the file", err)
		}
	})
}

// A GPU that the driver lost is Xid 79 also where none is printed, at the address that the message names in its first line.
func TestLostGPU(t *testing.T) {
	const text = "[  100.000001] NVRM: The NVIDIA GPU 0000:b3:00.0\n               NVRM: (PCI ID: 10de:26b5) installed in this system has\n               NVRM: fallen off the bus and is not responding to commands.\n"
	if !KernelLog.Recognises([]byte(text)) {
		t.Error("not recognised")
	}
	got, err := Read(strings.NewReader(text), "dmesg", KernelLog, Options{})
	if err != nil || len(got.Events) != 1 || got.Events[0].Code != 79 || got.Events[0].Bus != nccl.ParseBus("0000:b3:00.0") {
		t.Errorf("%+v, %v", got, err)
	}
}

// A GPU whose Xid 79 is followed by a line of its loss was lost once; another one is another loss.
func TestLostOnce(t *testing.T) {
	text := ""
	for _, bus := range []string{"3b", "b3"} {
		text += "[Fri Nov 27 10:00:00 2026] NVRM: Xid (PCI:0000:" + bus + ":00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n" +
			"[Fri Nov 27 10:00:01 2026] NVRM: GPU 0000:" + bus + ":00.0: GPU has fallen off the bus.\n"
	}
	got, err := Read(strings.NewReader(text), "dmesg", KernelLog, Options{})
	if err != nil || len(got.Events) != 2 || got.Events[0].Bus == got.Events[1].Bus {
		t.Errorf("%+v, %v", got, err)
	}
}
