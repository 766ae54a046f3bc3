package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// same compares outputs of other numbers of threads, and of batches that were killed,
// with that of two threads.
func (m *measuring) same() error {
	whole, err := os.ReadFile(m.rows())
	if err != nil {
		return err
	}
	for _, threads := range []string{"1", "5", "64"} {
		if _, err := m.batch(threads); err != nil {
			return err
		}
		if err := m.compare(whole, m.rows()); err != nil {
			return err
		}
	}
	return m.kill(whole)
}

func (m *measuring) compare(whole []byte, path string) error {
	b, err := os.ReadFile(path)
	if m.Compared++; !bytes.Equal(whole, b) {
		m.Other++
	}
	return err
}

// kill kills a batch at random instants, takes it up again each time, and compares what
// it ends in with what was never killed. Where it ends before it was killed often enough,
// another begins, and is killed sooner.
func (m *measuring) kill(whole []byte) error {
	rng := rand.New(rand.NewPCG(9, 9))
	out := filepath.Join(m.work, "killed.parquet")
	most := time.Duration(m.wall * float64(time.Second) / float64(m.Kills+1))
	for left := m.Kills; left > 0; most /= 2 {
		if most < time.Millisecond {
			return fmt.Errorf("%d kills did not hit a batch at work: make a larger archive", left)
		}
		hit, err := m.killed(out, left, func() time.Duration { return time.Duration(float64(most) * (0.3 + rng.Float64())) })
		if err != nil {
			return err
		}
		left, m.Killed = left-hit, m.Killed+hit
		if err := m.compare(whole, out); err != nil {
			return err
		}
		if err := os.Remove(out); err != nil {
			return err
		}
	}
	return nil
}

// killed brings a batch to its end, killed up to so many times, each time when it has
// run for a while, and gives how often it was.
func (m *measuring) killed(out string, times int, while func() time.Duration) (hit int, err error) {
	for {
		ctx, stop := context.Background(), context.CancelFunc(func() {})
		if hit < times {
			ctx, stop = context.WithTimeout(ctx, while())
		}
		err := exec.CommandContext(ctx, m.sfstat, "batch", m.dir, "-o", out, "--resume", "--quiet").Run()
		late := ctx.Err() != nil
		stop()
		if err == nil || !late {
			return hit, err
		}
		hit++
	}
}
