package diagnose

// The evidence that calls and kernels of communication give.

func communicationEvidence() []Evidence { return nil }

func communicationReasons() []Reason { return nil }
