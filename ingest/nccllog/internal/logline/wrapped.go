package logline

import (
	"bytes"
	"encoding/json"
	"regexp"
)

// colour is how terminals are told to change it, also as JSON writes ESC.
var colour = regexp.MustCompile(`(?i)(?:\x1b|\\u001b)\[[0-9;]*m`)

// removeColour returns the line without colours.
func removeColour(line []byte) []byte {
	if bytes.IndexByte(line, 0x1b) < 0 && !bytes.Contains(line, []byte(`\u001`)) {
		return line
	}
	return colour.ReplaceAll(line, nil)
}

// wrapped is a line that a collector of logs put into an object: the json-file driver of Docker says log,
// journald MESSAGE, loggers of programs message or msg; the case of letters does not matter.
type wrapped struct {
	Log     *string `json:"log"`
	Message *string `json:"message"`
	Msg     *string `json:"msg"`
}

// unwrap returns the line inside an object, without its end; any other line as it is.
func unwrap(line []byte) []byte {
	if len(line) < 2 || line[0] != '{' || line[len(line)-1] != '}' || !bytes.Contains(line, marker) && !bytes.Contains(line, opCount) {
		return line
	}
	var w wrapped
	if json.Unmarshal(line, &w) != nil {
		return line
	}
	for _, text := range [...]*string{w.Log, w.Message, w.Msg} {
		if text != nil {
			return bytes.TrimRight([]byte(*text), "\r\n")
		}
	}
	return line
}
