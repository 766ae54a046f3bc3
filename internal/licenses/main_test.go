package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryModule: each module of the program has a licence, and so has Go.
func TestEveryModule(t *testing.T) {
	t.Chdir("../..")
	all, err := listModules("./cmd/sfstat", nil)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := write(&text, all); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Go go1.", "golang.org/x/term v0.", "github.com/minio/minio-go/v7 v7.", "Apache License", "Redistribution and use in source and binary forms", "Permission is hereby granted"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in it", want)
		}
	}
	if strings.Contains(text.String(), "gofakes3") {
		t.Error("a library of tests is in it")
	}
}

// TestTexts: licences of linked packages count, those of others do not; a module without
// any is an error.
func TestTexts(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"README.md", "a/b/COPYING.txt", "a/license.go", "other/LICENSE", "NOTICE"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	m := &module{Path: "m", Dir: dir, packages: []string{dir, filepath.Join(dir, "a", "b")}}
	found, err := m.texts()
	if got := strings.ReplaceAll(filepath.ToSlash(strings.Join(found, " ")), filepath.ToSlash(dir)+"/", ""); err != nil || got != "NOTICE a/b/COPYING.txt" {
		t.Errorf("%q, %v", got, err)
	}
	bare := &module{Path: "m", Dir: filepath.Join(dir, "a")}
	if _, err := bare.texts(); err == nil {
		t.Error("a module without a licence passes")
	}
}
