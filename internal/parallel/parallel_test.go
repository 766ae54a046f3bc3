package parallel

import (
	"errors"
	"fmt"
	"testing"
)

func TestMap(t *testing.T) {
	out, err := Map(1000, func(i int) (int, error) { return i * i, nil })
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range out {
		if x != i*i {
			t.Fatalf("piece %d: %d", i, x)
		}
	}
	if _, err := Map(0, func(int) (int, error) { return 0, errors.New("none was asked for") }); err != nil {
		t.Error(err)
	}
	_, err = Map(100, func(i int) (int, error) {
		if i > 6 {
			return 0, fmt.Errorf("piece %d", i)
		}
		return i, nil
	})
	if err == nil || err.Error() != "piece 7" {
		t.Error(err)
	}
}
