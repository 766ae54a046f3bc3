package auto

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/sfstat/sfstat/archive"
)

// An archive of a folder whose footer is damaged is refused, and not passed over as
// if it were something else.
func TestDamagedArchiveInFolder(t *testing.T) {
	good := parquetOf(t, some(1))
	for name, spoil := range map[string]func([]byte){
		"footer":   func(b []byte) { b[len(b)-5] ^= 0x40 }, // its length
		"metadata": func(b []byte) { b[bytes.LastIndex(b, []byte(archive.Format))+20] ^= 1 },
	} {
		t.Run(name, func(t *testing.T) {
			bad := []byte(good)
			spoil(bad)
			r, err := Open([]string{folderOf(t, map[string]string{"a.parquet": good, "b.parquet": string(bad)})}, Options{Joined: true})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for err == nil {
				_, err = r.Next()
			}
			if p := r.Problems(); len(p) != 1 || filepath.Base(p[0].Path) != "b.parquet" {
				t.Errorf("problems %v, expected one with b.parquet; inputs %+v", p, r.Inputs())
			}
		})
	}
}
