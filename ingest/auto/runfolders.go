package auto

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// NoRunError reports that no folder is called as a run that was asked for.
type NoRunError struct {
	Run string
	Has []string // folders in which files lie, ascending
}

func (e *NoRunError) Error() string {
	return fmt.Sprintf("no file lies in a folder %q: the folders are %s", e.Run, strings.Join(e.Has, ", "))
}

// filesOfRuns returns the files in or below a folder that has the name of one of some runs, such as job or node0/job; of no runs, all.
func filesOfRuns(all []candidate, runs []string) (list []candidate, err error) {
	if len(runs) == 0 {
		return all, nil
	}
	found, folders := map[string]bool{}, map[string]bool{}
	for _, c := range all {
		if c.skipped != "" || c.err != nil {
			list = append(list, c)
			continue
		}
		parts := folderParts(c.path)
		folders[parts[len(parts)-1]] = true
		above := len(parts) - 1 - strings.Count(c.name, "/") // folders that the one given lies in name no run
		folder := "/" + strings.Join(parts[max(above, 0):], "/") + "/"
		if i := slices.IndexFunc(runs, func(run string) bool { return strings.Contains(folder, "/"+run+"/") }); i >= 0 {
			list = append(list, c)
		}
		for _, run := range runs {
			found[run] = found[run] || strings.Contains(folder, "/"+run+"/")
		}
	}
	for _, run := range runs {
		if !found[run] {
			return nil, &NoRunError{run, slices.Sorted(maps.Keys(folders))}
		}
	}
	return list, nil
}
