package auto

import (
	"bytes"
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
	"github.com/sfstat/sfstat/ingest/hangtext"
	"github.com/sfstat/sfstat/ingest/trainlog"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/internal/natural"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/health"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/recorded"
)

// ofRank is a folder of torchrun's, which has one for each rank.
var ofRank = regexp.MustCompile(`^(?:rank[_-]?)?\d+$`)

// logFolder returns the folder of the logs of a job.
func logFolder(r *Reader, in *Input) string {
	folder, _, _ := placeOf(in.Path, r.o.Rank)
	return folder
}

// logsAgain is a folder in which MMEngine writes once more what the log beside it has.
const logsAgain = "vis_data"

// rotated is how the name of a log ends that a later one replaced.
var rotated = regexp.MustCompile(`(\.(?:log|txt|out|err))[.-]\d+(\.gz|\.zst)?$`)

// placeOf returns the folder of logs of the job of a log, and its rank and host by its path.
func placeOf(path string, pattern *regexp.Regexp) (folder string, rank int, host string) {
	folder, path = dirOf(path), rotated.ReplaceAllString(path, "$1$2")
	if filepath.Base(folder) == logsAgain {
		folder = filepath.Dir(folder)
	}
	rank, host = flightrecorder.RankOf(path, pattern)
	name := filepath.Base(folder)
	if rank < 0 && pattern == nil && ofRank.MatchString(name) {
		rank, _ = strconv.Atoi(strings.TrimLeft(name, "rank_-"))
		folder = filepath.Dir(folder)
	}
	return folder, rank, host
}

// saysRank is the name of a log that says that its number is a rank's; others have numbers of jobs, dates and versions.
var saysRank = regexp.MustCompile(`(?i)rank|worker`)

// maxNumberRatio is the largest ratio of numbers in names to logs of a job for which the numbers are ranks.
const maxNumberRatio = 2

// rankOf returns the rank and host of a log as its path tells, −1 where the number in its name need be no rank's: no word says so, and
// the logs are not numbered from 0 on.
func (u *unit) rankOf(l *Input) (rank int, host string) {
	if at, ok := u.onHosts[l]; ok {
		return at.rank, at.host
	}
	if rank = trainlog.DLIORank(l.Path); rank >= 0 && u.r.o.Rank == nil {
		return rank, ""
	}
	_, rank, host = placeOf(l.Path, u.r.o.Rank)
	if rank >= 0 && u.r.o.Rank == nil && !saysRank.MatchString(filepath.Base(l.Path)) && !saysRank.MatchString(filepath.Base(dirOf(l.Path))) &&
		(len(u.inputs) == 1 || rank >= maxNumberRatio*len(u.inputs)) {
		return -1, host
	}
	return rank, host
}

// rankOnHost is a rank, and the host that it is on.
type rankOnHost struct {
	rank int
	host string
}

// joinHostLogs makes one unit of the logs of a job that has a folder for each host, where their names say the ranks: through all hosts, or on
// each, in the order of these.
func (r *Reader) joinHostLogs() {
	within := rootsOf(r.paths)
	parts := make(map[string][]*unit)
	for _, u := range r.units {
		if u.format == TrainLog && u.folder != within.rootOf(u.inputs[0].Path) && hostInside.MatchString(filepath.Base(u.folder)) {
			parts[filepath.Dir(u.folder)] = append(parts[filepath.Dir(u.folder)], u)
		}
	}
	for folder, units := range parts {
		slices.SortFunc(units, func(a, b *unit) int { return natural.Compare(a.folder, b.folder) })
		if ranks := ranksOfHosts(units); len(units) > 1 && ranks != nil {
			first := units[0]
			first.onHosts, first.folder = ranks, folder
			for _, u := range units[1:] {
				r.units = slices.DeleteFunc(r.units, func(one *unit) bool { return one == u })
				first.inputs, first.size = append(first.inputs, u.inputs...), first.size+u.size
			}
		}
	}
}

// ranksOfHosts returns the ranks and hosts of logs, each unit those of a host; nil where a name does not say the rank.
func ranksOfHosts(units []*unit) map[*Input]rankOnHost {
	out := make(map[*Input]rankOnHost)
	on := make(map[int]string)
	repeated := false
	for _, u := range units {
		for _, in := range u.inputs {
			rank, host := u.rankOf(in)
			if rank < 0 {
				return nil
			}
			host = cmp.Or(host, filepath.Base(u.folder))
			was, known := on[rank]
			repeated = repeated || known && was != host
			on[rank], out[in] = host, rankOnHost{rank, host}
		}
	}
	for first, i := 0, 0; repeated && i < len(units); i++ {
		most := 0
		for _, in := range units[i].inputs {
			at := out[in]
			most = max(most, at.rank)
			at.rank += first
			out[in] = at
		}
		first += most + 1
	}
	return out
}

// passOverTimed skips logs beside another recording of the times of the run: they say nothing new, but for what
// a straggler detector wrote into them.
func (r *Reader) passOverTimed() {
	for _, u := range r.units {
		if u.format != TrainLog || !r.hasTimesNear(u.folder) {
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

// hasTimesNear reports whether another input in a folder, above it or below it has step times.
func (r *Reader) hasTimesNear(folder string) bool {
	for i := range r.inputs {
		in := &r.inputs[i]
		if in.Skipped != "" || in.Format == TrainLog || !in.Format.Readable() || !in.Format.gives(Windows) {
			continue
		}
		if other := dirOf(in.Path); other == folder || strings.HasPrefix(other, folder+"/") || strings.HasPrefix(folder, other+"/") {
			return true
		}
	}
	return false
}

// trainLogs passes on the logs of one run as windows, the conclusions of a straggler detector in them, and the waits of
// a job that stood still. Conclusions and waits replace logs without usable times.
func (u *unit) trainLogs(give func(part) bool) error {
	said := make(map[*Input]*detectors.Log)
	if u.inputs[0].Skipped == "" {
		if goesOn, err := u.emitLogWindows(said, give); err != nil {
			if u.emitDetections(said, give) > 0 {
				err = nil
			}
			return err
		} else if !goesOn {
			return nil
		}
	}
	u.emitDetections(said, give)
	return nil
}

// hangTexts hands on what logs of one run say of a time-out.
func (u *unit) hangTexts(give func(part) bool) error {
	s := hangtext.Scanner{}
	for _, l := range u.inputs {
		src, err := u.r.open(l)
		if err != nil {
			return err
		}
		rank, _ := u.rankOf(l)
		s.Begin(rank)
		err = s.Read(src, l.Path, u.r.o.Limits)
		if src.Close(); err != nil {
			return err
		}
	}
	path := u.inputs[0].Path
	c := s.Record(path)
	if c == nil {
		return input.At(input.Pos{File: path}, input.Bad(input.ErrMissing, "the messages of a time-out do not tell which rank waits: give the logs of all ranks, "+
			"or start with torchrun, which puts the rank before each line"))
	}
	give(part{Job: recorded.Job{Calls: c, Path: path}, folder: u.folder})
	return nil
}

// emitLogWindows hands on the windows of the logs; none where all are passed over. What detectors wrote into them is taken too. goesOn is false where
// give returned false.
func (u *unit) emitLogWindows(said map[*Input]*detectors.Log, give func(part) bool) (goesOn bool, err error) {
	b, of := u.newLogs(said), make(map[string]int)
	for _, l := range u.inputs {
		err := u.readLog(b, l)
		switch {
		case err == nil:
			of[l.Path] = 0
		case u.passOver(l, err):
		case len(u.inputs) > 1 && u.r.o.Strict != ingest.FirstError:
			u.r.problems = append(u.r.problems, Problem{l.Path, err})
		default:
			return false, err
		}
	}
	path := u.inputs[0].Path
	name := filepath.Base(u.folder)
	if len(u.inputs) == 1 {
		name = cmp.Or(strings.TrimSuffix(stem(path), filepath.Ext(stem(path))), name)
	} else {
		path = filepath.Dir(path)
	}
	c := b.stopped.Record(path)
	first, goesOn := true, true
	err = b.Each(name, func(w *trace.Window) bool {
		if first && c != nil && len(c.Processes) == 0 && u.r.o.Kinds.has(Readings) {
			w.Notes, c = append(w.Notes, c.Notes...), nil
		}
		if first && c != nil {
			c.Run = w.Run
		}
		first = false
		p := window(w, path)
		p.folder, p.of = u.folder, of
		goesOn = give(p)
		return goesOn
	})
	for _, refused := range b.Refused {
		if u.r.o.Strict == ingest.FirstError {
			return false, refused.Err
		}
		u.r.problems = append(u.r.problems, Problem{refused.File, refused.Err})
	}
	if c != nil && goesOn && u.r.o.Kinds.has(Entries) {
		c.Run = cmp.Or(c.Run, name)
		return give(part{Job: recorded.Job{Calls: c, Path: path}, folder: u.folder, of: of, run: name}), nil
	}
	if err == nil {
		return goesOn, nil
	}
	for _, l := range u.inputs {
		if l.Skipped == "" && !u.passOver(l, err) {
			return false, input.At(input.Pos{File: path}, err)
		}
	}
	return true, nil
}

// passOver skips a log that was found in a folder beside other inputs and says too little, as those of one rank do.
func (u *unit) passOver(l *Input, err error) bool {
	little := errors.Is(err, input.ErrMissing) || errors.Is(err, input.ErrEmpty)
	others := slices.ContainsFunc(u.r.inputs, func(in Input) bool {
		return in.Skipped == "" && in.Format != TrainLog && in.Format.Readable() && in.Format.gives(u.r.o.Kinds)
	})
	if l.named || !little || !others {
		return false
	}
	l.Skipped = strings.TrimPrefix(err.Error(), l.Path+":")
	u.r.given--
	return true
}

// emitDetections passes on the conclusions of a straggler detector in the logs, and returns the number of logs with any.
// said holds those already read, since a stream cannot be read again.
func (u *unit) emitDetections(said map[*Input]*detectors.Log, give func(part) bool) (n int) {
	if !u.r.o.Kinds.has(Readings) {
		return 0
	}
	for _, l := range u.inputs {
		record := (*health.Record)(nil)
		if log := said[l]; log != nil {
			record = log.Record(l.Path)
		} else if u.r.piped[l] == nil {
			record = u.conclusions(l)
		}
		if record == nil || len(record.Events) == 0 {
			continue
		}
		if n++; !give(part{Job: recorded.Job{Readings: record, Path: l.Path}}) {
			break
		}
	}
	return n
}

// conclusions returns what a detector wrote into a log that was not read; nil: nothing.
func (u *unit) conclusions(l *Input) *health.Record {
	src, err := u.r.source(l.Path)
	if err != nil {
		return nil
	}
	defer src.Close()
	record, err := detectors.Read(src, l.Path, u.r.o.Limits)
	if err != nil {
		return nil
	}
	return record
}

// logs collects what the logs of a job say in one pass: step times, waits of ranks, and conclusions of a detector.
type logs struct {
	trainlog.Builder
	stopped  hangtext.Scanner
	detector detectors.Log
	said     map[*Input]*detectors.Log
}

// newLogs returns the reader of the logs of the unit. It keeps the conclusions of a detector in said, by log.
func (u *unit) newLogs(said map[*Input]*detectors.Log) *logs {
	b := &logs{Builder: trainlog.Builder{Limits: u.r.o.Limits, Dialects: u.r.o.Dialects, Columns: u.r.o.Columns, Rank: u.r.o.Rank}, said: said}
	b.Stepped = b.stopped.Step
	b.Also = []trainlog.Listener{
		{Words: hangtext.Words(), Line: b.stopped.MarkedLine},
		{Words: detectors.Words(), Line: func(line []byte, _ int64, has bool) { b.detector.Line(line, has) }},
	}
	return b
}

// readLog reads one log.
func (u *unit) readLog(b *logs, l *Input) (err error) {
	defer bug.Contain(l.Path, &err)
	src, err := u.r.open(l)
	if err != nil {
		return err
	}
	defer src.Close()
	rank, host := u.rankOf(l)
	b.stopped.Begin(rank)
	head, _ := src.Peek(sniffed)
	if trainlog.RecogniseDLIO(bytes.TrimLeft(head, " \t\r\n")) {
		return b.ReadDLIO(src, l.Path, rank)
	}
	lines := !detectors.Summarises(head) && !bytes.HasPrefix(head, []byte("{"))
	b.detector = detectors.Log{}
	err = b.Read(src, l.Path, rank, host)
	if log := b.detector; lines && (err == nil || errors.Is(err, input.ErrEmpty)) { // it was read to its end
		b.said[l] = &log
	}
	if err != nil || b.EndsInBar {
		return err
	}
	return u.r.notePartialLine(l.Path, src.Source)
}
