package volume

import "fmt"

// RanksError says that a model is not that of the job: it has other ranks.
type RanksError struct {
	Model    *Model
	Recorded int
}

func (e *RanksError) Error() string {
	m := e.Model
	return fmt.Sprintf("the model has dp·tp·cp·pp = %d·%d·%d·%d = %d ranks, the logs and exports have %d", m.DP, m.TP, m.CP, m.PP, m.Ranks(), e.Recorded)
}
