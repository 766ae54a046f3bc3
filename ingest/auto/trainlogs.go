package auto

import (
	"cmp"
	"errors"
	"io"
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

// addTrainLog puts a log of a training program to the others; it is opened by its path.
func (r *Reader) addTrainLog(in *Input, src *metered) {
	l := &loggedRank{Input: in}
	if in.Bytes == ingest.UnknownSize {
		l.src = src
	} else {
		src.Close()
	}
	r.logged = append(r.logged, l)
}

// loggedRank is one log.
type loggedRank struct {
	*Input
	src *metered // of a stream, which cannot be opened again
}

// ofRank is a folder of torchrun's, which has one for each rank.
var ofRank = regexp.MustCompile(`^(?:rank[_-]?)?\d+$`)

// folder is that of the logs of a job, and rank and host are as the path tells.
func (l *loggedRank) place(pattern *regexp.Regexp) (folder string, rank int, host string) {
	folder = dirOf(l.Path)
	rank, host = flightrecorder.RankOf(l.Path, pattern)
	name := filepath.Base(folder)
	if rank < 0 && pattern == nil && ofRank.MatchString(name) {
		rank, _ = strconv.Atoi(strings.TrimLeft(name, "rank_-"))
		folder = filepath.Dir(folder)
	}
	return folder, rank, host
}

// trainLogs makes a unit of the logs in each folder: they are of one run. Beside another recording
// of the times of the run they say nothing new, but for what a straggler detector wrote into them.
func (r *Reader) trainLogs() {
	units := make(map[string]*trainLogs)
	for _, l := range r.logged {
		folder, _, _ := l.place(r.o.Rank)
		timed := !l.named && r.timedIn(folder)
		if timed {
			l.Skipped = TrainLog.row().noun
			r.given--
		}
		u := units[folder]
		if u == nil {
			u = &trainLogs{r: r, folder: folder, done: timed}
			units[folder] = u
			r.units = append(r.units, &unit{reader: u})
		}
		u.logs = append(u.logs, l)
	}
	for _, u := range r.units {
		if t, ok := u.reader.(*trainLogs); ok {
			for _, l := range t.logs {
				u.size += r.meter.expect(l.Bytes)
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

// trainLogs is the logs of one run as a window.
type trainLogs struct {
	r      *Reader
	folder string
	logs   []*loggedRank
	done   bool // the window was read, or none is wanted
}

func (t *trainLogs) Next() (Item, error) {
	if t.done {
		return t.conclusion()
	}
	t.done = true
	b := trainlog.Builder{Limits: t.r.o.Limits}
	for _, l := range t.logs {
		err := t.read(&b, l)
		switch {
		case err == nil:
			l.Windows++
		case t.passOver(l, err):
		case len(t.logs) > 1 && t.r.o.Strict != FirstError:
			t.r.problems = append(t.r.problems, Problem{l.Path, err})
		default:
			return t.insteadOf(err)
		}
	}
	path := t.logs[0].Path
	name := filepath.Base(t.folder)
	if len(t.logs) == 1 {
		name = cmp.Or(strings.TrimSuffix(stem(path), filepath.Ext(stem(path))), name)
	} else {
		path = filepath.Dir(path)
	}
	w, err := b.Window(name)
	if err == nil {
		return Item{Window: w, Path: path, folder: t.folder}, nil
	}
	for _, l := range t.logs {
		if l.Skipped == "" && !t.passOver(l, err) {
			return t.insteadOf(input.At(input.Pos{File: path}, err))
		}
	}
	return t.conclusion()
}

// insteadOf is what a straggler detector concludes in logs that cannot be used otherwise; the error if it is nothing.
func (t *trainLogs) insteadOf(err error) (Item, error) {
	if said, none := t.conclusion(); none == nil {
		return said, nil
	}
	return Item{}, err
}

// passOver skips a log that was found in a folder beside other inputs and says too little, as those of one rank do.
func (t *trainLogs) passOver(l *loggedRank, err error) bool {
	little := errors.Is(err, input.ErrMissing) || errors.Is(err, input.ErrEmpty)
	others := slices.ContainsFunc(t.r.inputs, func(in Input) bool {
		return in.Skipped == "" && in.Format != TrainLog && in.Format.Readable() && in.Format.gives(t.r.o.Want)
	})
	if l.named || !little || !others {
		return false
	}
	l.Skipped, l.Windows = strings.TrimPrefix(err.Error(), l.Path+":"), 0
	t.r.given--
	return true
}

// conclusion is what a straggler detector wrote into the next log that has it.
func (t *trainLogs) conclusion() (Item, error) {
	for wants[t.r.o.Want].contents&readings != 0 && len(t.logs) > 0 {
		l := t.logs[0]
		t.logs = t.logs[1:]
		if l.src != nil {
			continue // a stream was read to its end
		}
		src, err := t.r.source(l.Path)
		if err != nil {
			continue
		}
		said, err := detectors.Read(src, l.Path, t.r.o.Limits)
		if src.Close(); err == nil && len(said.Events) > 0 {
			return Item{Telemetry: said, Path: l.Path}, nil
		}
	}
	return Item{}, io.EOF
}

// read reads one log.
func (t *trainLogs) read(b *trainlog.Builder, l *loggedRank) (err error) {
	defer bug.Contain(l.Path, &err)
	src := l.src
	if src == nil {
		again, err := t.r.source(l.Path)
		if err != nil {
			return err
		}
		src = t.r.meter.watch(again)
	}
	defer src.Close()
	_, rank, host := l.place(t.r.o.Rank)
	return b.Read(src, l.Path, rank, host)
}

// Close closes streams that were not read.
func (t *trainLogs) Close() error {
	for _, l := range t.logs {
		if l.src != nil {
			l.src.Close()
		}
	}
	return nil
}
