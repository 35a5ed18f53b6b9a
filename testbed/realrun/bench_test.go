package realrun_test

import (
	"os"
	"testing"

	"github.com/rs/zerolog"

	"skyring/testbed/realrun"
)

// BenchmarkAgreement prints how far the simulation is from a real run: read the ratios. It takes some 5 minutes.
func BenchmarkAgreement(b *testing.B) {
	for b.Loop() {
		c := realrun.DefaultConfig()
		c.Dir = b.TempDir()

		result, err := realrun.Run(b.Context(), c, zerolog.Nop())
		if err != nil {
			b.Fatal(err)
		}

		if err := result.Text(os.Stdout); err != nil {
			b.Fatal(err)
		}

		for _, a := range result.Agreements() {
			b.ReportMetric(a.Response, a.Policy+"-response-ratio")
			b.ReportMetric(a.SameNode, a.Policy+"-same-node-ratio")
		}
	}
}
