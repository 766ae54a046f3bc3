package diagnose

// The evidence that windows give.

func windowEvidence() []Evidence { return nil }

func windowReasons() []Reason { return nil }
