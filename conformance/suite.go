package conformance

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// Suite plays a directory of transcripts and reports about them.
type Suite struct {
	// Player plays the transcripts.
	Player Player
	// Dir holds the *.txtar files.
	Dir string
	// Run selects transcripts by name. Nil means all.
	Run *regexp.Regexp
	// Baseline names the failures that are known. Nil means none.
	Baseline Baseline
	// Update rewrites the expected frames of transcripts that fail.
	Update bool
	// Verbose also reports transcripts that pass.
	Verbose bool
}

// Summary counts the outcomes of a suite.
type Summary struct {
	// Passed counts transcripts that went as written.
	Passed int
	// Failed counts those that did not, and baseline entries that passed or do
	// not exist.
	Failed int
	// Known counts failures that the baseline names.
	Known int
}

// String is the last line of a report.
func (s Summary) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d known", s.Passed, s.Failed, s.Known)
}

// Load reads the transcripts that Run selects, in the order of their names. An
// empty directory is an error: a suite that checks nothing must not pass.
func (s *Suite) Load() ([]*Transcript, error) {
	paths, err := filepath.Glob(filepath.Join(s.Dir, "*.txtar"))
	if err != nil {
		return nil, fmt.Errorf("list transcripts: %w", err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no transcripts in %s", s.Dir)
	}
	slices.Sort(paths)
	var selected []*Transcript
	for _, path := range paths {
		t, err := ParseFile(path)
		if err != nil {
			return nil, err
		}
		if s.Run == nil || s.Run.MatchString(t.Name) {
			selected = append(selected, t)
		}
	}
	if len(selected) == 0 {
		return nil, fmt.Errorf("no transcript in %s is called like %s", s.Dir, s.Run)
	}
	return selected, nil
}

// Play plays the selected transcripts one after another and writes a report.
// An error means that the suite itself could not be played.
func (s *Suite) Play(ctx context.Context, report io.Writer) (Summary, error) {
	transcripts, err := s.Load()
	if err != nil {
		return Summary{}, err
	}
	var sum Summary
	for _, t := range transcripts {
		if err := s.playOne(ctx, t, &sum, report); err != nil {
			return sum, fmt.Errorf("play %s: %w", t.Name, err)
		}
	}
	s.reportUnknown(transcripts, &sum, report)
	say(report, "%v\n", sum)
	return sum, nil
}

func (s *Suite) playOne(ctx context.Context, t *Transcript, sum *Summary, report io.Writer) error {
	mismatch, err := s.Player.Play(ctx, t)
	if err != nil {
		return err
	}
	reason, known := s.Baseline[t.Name]
	switch {
	case mismatch == nil && known:
		sum.Failed++
		say(report, "FAIL %s: it passes, take it off the baseline (%s)\n", t.Name, reason)
	case mismatch == nil:
		sum.Passed++
		if s.Verbose {
			say(report, "ok   %s\n", t.Name)
		}
	case known:
		sum.Known++
		if s.Verbose {
			say(report, "known %s: %s\n", t.Name, reason)
		}
	case s.Update:
		return s.rewrite(ctx, t, sum, report)
	default:
		sum.Failed++
		say(report, "FAIL %s\n%v\n", t.Name, mismatch)
	}
	return nil
}

// rewrite replaces a transcript by what the peer really does. A transcript
// that cannot be rewritten counts as failed.
func (s *Suite) rewrite(ctx context.Context, t *Transcript, sum *Summary, report io.Writer) error {
	data, mismatch, err := s.Player.Update(ctx, t)
	if err != nil {
		return err
	}
	if mismatch != nil {
		sum.Failed++
		say(report, "FAIL %s cannot be rewritten\n%v\n", t.Name, mismatch)
		return nil
	}
	if err := os.WriteFile(t.path, data, 0o600); err != nil {
		return fmt.Errorf("rewrite transcript: %w", err)
	}
	sum.Passed++
	say(report, "rewrote %s\n", t.Name)
	return nil
}

// reportUnknown fails baseline entries without a transcript, unless only a
// part of the suite was asked for.
func (s *Suite) reportUnknown(transcripts []*Transcript, sum *Summary, report io.Writer) {
	if s.Run != nil {
		return
	}
	names := make([]string, 0, len(s.Baseline))
	for name := range s.Baseline {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if !slices.ContainsFunc(transcripts, func(t *Transcript) bool { return t.Name == name }) {
			sum.Failed++
			say(report, "FAIL %s: the baseline names it, but there is no such transcript\n", name)
		}
	}
}

// say writes a line of the report. A reader who has gone away changes nothing
// about the outcome.
func say(report io.Writer, text string, args ...any) {
	_, _ = fmt.Fprintf(report, text, args...)
}
