package auto

import (
	"cmp"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/detectors"
	"github.com/sfstat/sfstat/ingest/flightrecorder"
	"github.com/sfstat/sfstat/ingest/trainlog"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/trace/input"
)

// ofRank is a folder of torchrun's, which has one for each rank.
var ofRank = regexp.MustCompile(`^(?:rank[_-]?)?\d+$`)

// logFolder is the folder of the logs of a job.
func logFolder(r *Reader, in *Input) string {
	folder, _, _ := placeOf(in.Path, r.o.Rank)
	return folder
}

// placeOf is the folder of the logs of a job that a log is of, and its rank and host as its path tells.
func placeOf(path string, pattern *regexp.Regexp) (folder string, rank int, host string) {
	folder = dirOf(path)
	rank, host = flightrecorder.RankOf(path, pattern)
	name := filepath.Base(folder)
	if rank < 0 && pattern == nil && ofRank.MatchString(name) {
		rank, _ = strconv.Atoi(strings.TrimLeft(name, "rank_-"))
		folder = filepath.Dir(folder)
	}
	return folder, rank, host
}

// passOverTimed skips logs beside another recording of the times of the run: they say nothing new, but for what
// a straggler detector wrote into them.
func (r *Reader) passOverTimed() {
	for _, u := range r.units {
		if u.format != TrainLog || !r.timedIn(u.folder) {
			continue
		}
		for _, l := range u.inputs {
			if !l.named {
				l.Skipped = l.Format.row().noun
				r.given--
			}
		}
	}
}

// timedIn reports whether another input in a folder, or in one above or below it, has times of steps.
func (r *Reader) timedIn(folder string) bool {
	for i := range r.inputs {
		in := &r.inputs[i]
		if in.Skipped != "" || in.Format == TrainLog || !in.Format.Readable() || in.Format.row().gives&windows == 0 {
			continue
		}
		if other := dirOf(in.Path); other == folder || strings.HasPrefix(other, folder+"/") || strings.HasPrefix(folder, other+"/") {
			return true
		}
	}
	return false
}

// trainLogs hands on the logs of one run as a window, and what a straggler detector concludes in them. That
// stands for logs that cannot be used otherwise.
func (u *unit) trainLogs(give func(Item) bool) error {
	if u.inputs[0].Skipped == "" {
		item, err := u.logged()
		if err != nil {
			if u.concluded(give) > 0 {
				err = nil
			}
			return err
		}
		if item.Window != nil && !give(item) {
			return nil
		}
	}
	u.concluded(give)
	return nil
}

// logged is the window of the logs; none where all are passed over.
func (u *unit) logged() (Item, error) {
	b, of := trainlog.Builder{Limits: u.r.o.Limits}, make(map[string]int)
	for _, l := range u.inputs {
		err := u.readLog(&b, l)
		switch {
		case err == nil:
			of[l.Path] = 0
		case u.passOver(l, err):
		case len(u.inputs) > 1 && u.r.o.Strict != ingest.FirstError:
			u.r.problems = append(u.r.problems, Problem{l.Path, err})
		default:
			return Item{}, err
		}
	}
	path := u.inputs[0].Path
	name := filepath.Base(u.folder)
	if len(u.inputs) == 1 {
		name = cmp.Or(strings.TrimSuffix(stem(path), filepath.Ext(stem(path))), name)
	} else {
		path = filepath.Dir(path)
	}
	w, err := b.Window(name)
	if err == nil {
		return Item{Window: w, Path: path, folder: u.folder, of: of}, nil
	}
	for _, l := range u.inputs {
		if l.Skipped == "" && !u.passOver(l, err) {
			return Item{}, input.At(input.Pos{File: path}, err)
		}
	}
	return Item{}, nil
}

// passOver skips a log that was found in a folder beside other inputs and says too little, as those of one rank do.
func (u *unit) passOver(l *Input, err error) bool {
	little := errors.Is(err, input.ErrMissing) || errors.Is(err, input.ErrEmpty)
	others := slices.ContainsFunc(u.r.inputs, func(in Input) bool {
		return in.Skipped == "" && in.Format != TrainLog && in.Format.Readable() && in.Format.gives(u.r.o.Want)
	})
	if l.named || !little || !others {
		return false
	}
	l.Skipped = strings.TrimPrefix(err.Error(), l.Path+":")
	u.r.given--
	return true
}

// concluded hands on what a straggler detector wrote into the logs, and counts the logs that have it. A stream was read to its end.
func (u *unit) concluded(give func(Item) bool) (n int) {
	for _, l := range u.inputs {
		if wants[u.r.o.Want].contents&readings == 0 || u.r.piped[l] != nil {
			continue
		}
		src, err := u.r.source(l.Path)
		if err != nil {
			continue
		}
		said, err := detectors.Read(src, l.Path, u.r.o.Limits)
		if src.Close(); err != nil || len(said.Events) == 0 {
			continue
		}
		if n++; !give(Item{Telemetry: said, Path: l.Path}) {
			break
		}
	}
	return n
}

// readLog reads one log.
func (u *unit) readLog(b *trainlog.Builder, l *Input) (err error) {
	defer bug.Contain(l.Path, &err)
	src, err := u.r.open(l)
	if err != nil {
		return err
	}
	defer src.Close()
	_, rank, host := placeOf(l.Path, u.r.o.Rank)
	if err := b.Read(src, l.Path, rank, host); err != nil {
		return err
	}
	return u.r.unended(l.Path, src.Source)
}
