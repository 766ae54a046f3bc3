package diagnose

// The evidence that operator traces give.

func operatorEvidence() []Evidence { return nil }

func operatorReasons() []Reason { return nil }
