package auto

import "github.com/sfstat/sfstat/ingest"

// StoredBytes returns the stored bytes of the inputs of windows, or ingest.UnknownSize if one came through a pipe, and
// the format of the last input.
func StoredBytes(inputs []Input) (bytes int64, as Format) {
	for _, in := range inputs {
		switch {
		case in.Skipped != "" || in.Windows == 0:
			continue
		case in.Bytes == ingest.UnknownSize || bytes == ingest.UnknownSize:
			bytes = ingest.UnknownSize
		default:
			bytes += in.Bytes
		}
		as = in.Format
	}
	return bytes, as
}
