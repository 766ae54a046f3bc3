package main

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "modernc.org/sqlite" // the driver of exports
)

// export is a database of Nsight Systems, of one host. It is edited in place by SQL.
var export = &form{
	name:  "Nsight",
	hosts: hostOfExport,
	can: map[edit]func(*file, *editing) ([]*file, error){
		rewrite: editExports(func(*sql.DB, *file, *editing) error { return nil }),
		renameHosts: editExports(func(db *sql.DB, f *file, e *editing) error {
			for _, host := range hostOfExport(f) {
				if _, err := db.Exec(`UPDATE TARGET_INFO_SYSTEM_ENV SET value = ? WHERE name = 'Hostname'`, e.names.host(host)); err != nil {
					return err
				}
			}
			return nil
		}),
		shift: func(f *file, e *editing) ([]*file, error) {
			if !slices.Contains(hostOfExport(f), e.host) {
				return []*file{f}, nil
			}
			return editExports(func(db *sql.DB, _ *file, e *editing) error {
				done, err := db.Exec(`UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = utcEpochNs + ?`, e.ns)
				if err != nil {
					return notApplicable("the export does not say when it began")
				}
				if n, err := done.RowsAffected(); err != nil || n == 0 {
					return notApplicable("the export does not say when it began")
				}
				return nil
			})(f, e)
		},
		round: editExports(func(db *sql.DB, _ *file, e *editing) error { return roundExport(db, e.ns) }),
	},
	not: map[edit]string{
		renameRanks: "ranks follow from processes, devices and communicators",
		reorder:     "rows of a database are in no order",
		split:       "an export is one database",
		merge:       "an export is of one host",
		addStage:    "an export has no table of stages",
		remove:      "processes of an export share its tables",
	},
}

// database opens a copy of an export, and closes and removes it after use.
func database(f *file, use func(db *sql.DB) error) ([]byte, error) {
	folder, err := os.MkdirTemp("", "metamorphic")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "export.sqlite")
	if err := os.WriteFile(path, f.stored, 0o666); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return nil, err
	}
	err = use(db)
	if closed := db.Close(); err == nil {
		err = closed
	}
	if errors.Is(err, errNotApplicable) {
		return nil, err
	}
	if err != nil {
		return nil, notApplicable("a damaged database: %v", err)
	}
	return os.ReadFile(path)
}

func editExports(change func(*sql.DB, *file, *editing) error) func(*file, *editing) ([]*file, error) {
	return func(f *file, e *editing) ([]*file, error) {
		stored, err := database(f, func(db *sql.DB) error { return change(db, f, e) })
		if err != nil {
			return nil, err
		}
		out := f.withContent(stored)
		if e.edit == renameHosts {
			out = out.withName(hostsIn(out.name, e.names))
		}
		return []*file{out}, nil
	}
}

// hostOfExport returns the host that an export names, nothing where it names none.
func hostOfExport(f *file) (out []string) {
	_, _ = database(f, func(db *sql.DB) error { // without an answer the host is not known
		var host string
		if err := db.QueryRow(`SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'Hostname'`).Scan(&host); err != nil {
			return err
		}
		out = []string{host}
		return nil
	})
	return out
}

// roundExport rounds beginnings and ends in all tables.
func roundExport(db *sql.DB, unit int64) error {
	tables, err := texts(db, `SELECT name FROM sqlite_master WHERE type = 'table'`)
	if err != nil {
		return err
	}
	for _, t := range tables {
		columns, err := texts(db, fmt.Sprintf(`SELECT name FROM pragma_table_info('%s')`, t))
		if err != nil {
			return err
		}
		var sets []string
		for _, c := range columns {
			if c == "start" || c == "end" || c == "timestamp" {
				sets = append(sets, fmt.Sprintf(`"%s" = ("%s" + %d) / %d * %d`, c, c, unit/2, unit, unit))
			}
		}
		if len(sets) == 0 {
			continue
		}
		if _, err := db.Exec(fmt.Sprintf(`UPDATE "%s" SET %s`, t, strings.Join(sets, ", "))); err != nil {
			return err
		}
	}
	return nil
}

// texts returns the first column of the rows of a query.
func texts(db *sql.DB, query string) (out []string, err error) {
	rows, err := db.Query(query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, rows.Err()
}
