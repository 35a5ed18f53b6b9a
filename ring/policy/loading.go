package policy

// loadPolicies are those that choose by the nodes' turns or loads, whatever the session.
func loadPolicies() []entry {
	return []entry{
		fastestResponseEntry(),
		roundRobinEntry(),
		weightedRoundRobinEntry(),
		smoothRoundRobinEntry(),
		leastConnectionsEntry(),
		weightedLeastConnectionsEntry(),
		dynamicFeedbackEntry(),
		feedbackConnectionsEntry(),
		responseRatioEntry(),
		zCurveEntry(),
		drfEntry(),
		drfHalfEntry(),
		drfTwelveEntry(),
		responseTimeWeightedEntry(),
		availabilityEntry(),
		powerOfTwoEntry(),
	}
}
