package nsight

import "strings"

// attachments finds out whether NCCL's sizes are attached to ranges: by the layouts of payloads, and where none is
// NCCL's, by payloads in JSON among the registered strings. Those that stand with their events are seen as these go by.
// A payload of another library that looks like NCCL's is taken for one.
func (c *communication) attachments() error {
	size := func(field string) bool { return field == sizeField || field == "Bytes" }
	for _, fields := range c.schemas.fields {
		for _, f := range fields {
			c.attached = c.attached || size(f.name)
		}
	}
	names, err := c.fieldNames()
	if err != nil {
		return err
	}
	for _, t := range decodedTables(c.r.file, func(processID, int64) bool { return true }) {
		for _, column := range t.fields {
			c.attached = c.attached || size(names[fold(column)])
		}
	}
	if c.attached || !c.r.file.Has(nvtxTable, "jsonTextId") {
		return nil
	}
	for _, text := range c.r.names {
		if strings.HasPrefix(text, "{") && jsonPayload(text).bytes != unknown {
			c.attached = true
			return nil
		}
	}
	return nil
}
