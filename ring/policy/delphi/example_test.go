package delphi_test

import (
	"fmt"
	"strings"

	"skyring/ring"
	"skyring/ring/policy"
	"skyring/ring/policy/delphi"
)

// Two experts say what they expect of two processors, and the DRF policy goes by it.
func Example() {
	const answers = `expert,server,factor,min,likely,max
ada,gw-1,failures,0,1,2
ada,gw-1,active-requests,200,300,400
ada,gw-1,consecutive-failures,0,1,2
ada,gw-1,response-deviation,1,2,3
ada,gw-1,response,5,8,11
ada,gw-2,failures,0,1,2
ada,gw-2,active-requests,80,100,120
ada,gw-2,consecutive-failures,0,1,2
ada,gw-2,response-deviation,1,2,3
ada,gw-2,response,20,30,40
ben,gw-1,failures,0,1,2
ben,gw-1,active-requests,200,300,700
ben,gw-1,consecutive-failures,0,1,2
ben,gw-1,response-deviation,1,2,3
ben,gw-1,response,6,10,14
ben,gw-2,failures,0,1,2
ben,gw-2,active-requests,100,100,100
ben,gw-2,consecutive-failures,0,1,2
ben,gw-2,response-deviation,1,2,3
ben,gw-2,response,20,25,36
`

	round, err := delphi.Read(strings.NewReader(answers))
	if err != nil {
		fmt.Println(err)

		return
	}

	result, err := delphi.Panel{Experts: 2}.Evaluate(round)
	if err != nil {
		fmt.Println(err)

		return
	}

	needs := result.Needs
	fmt.Printf("%v: %.0f %% answered, %.0f %% disagree\n", result.Verdict, 100*result.Answered, 100*result.Disagreeing)
	fmt.Println("active requests of gw-1:", needs.Nodes["gw-1"]["active-requests"], "of", needs.Totals["active-requests"])
	fmt.Println("response of gw-2:", needs.Nodes["gw-2"]["response"], "of", needs.Totals["response"])

	nodes := []ring.Node{{ID: "gw-1", Capacity: 100}, {ID: "gw-2", Capacity: 100}}

	p, err := policy.New("drf", nodes, policy.Options{Ring: ring.DefaultConfig(), Needs: needs})
	if err != nil {
		fmt.Println(err)

		return
	}

	fmt.Println("picks among", p.Len())

	// Output:
	// settled: 100 % answered, 0 % disagree
	// active requests of gw-1: 325 of 425
	// response of gw-2: 28 of 37
	// picks among 2
}
