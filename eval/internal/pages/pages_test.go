package pages

import "fmt"

func ExampleTable() {
	fmt.Print(Table([]string{"size", "right"}, []string{"3 σ", "9 of 9"}))
	// Output:
	// | size | right |
	// |---|---|
	// | 3 σ | 9 of 9 |
}
