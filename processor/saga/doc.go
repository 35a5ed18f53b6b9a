// Package saga is what the records of stations, calls and channel pools tell each other. No commit spans two of them: each tells the next by
// numbered notifications, which arrive once and in order, and the call's record is the point of commit.
//
//	station A            call                 station B            pools
//	   |---- Setup ------->|                      |                  |
//	   |                   |------- Offer ------->| CALL-ANNOUNCE    |
//	   |                   |<--- OfferResult -----|                  |
//	   |                   |------------------ Allocate x 2 -------->|
//	   |                   |<----------------- Allocated x 2 --------|
//	   |<--- ToStation ----|----- ToStation ----->|                  |  CHANNEL-ASSIGN, CALL-ALERT, ... to the legs
//	   |---- Forward ----->|<---- Forward --------|                  |  what the stations send in the call
//	   |<--- EndCall ------|------ EndCall ------>|                  |
//	   |                   |-------------------- Free x 2 ---------->|
//	   |                   |<------------------- Freed x 2 ----------|
//
// Rules that both ends hold to:
//
//   - A notification's receiver knows the sender's session key, so none is repeated inside.
//   - After Setup the calling station's record knows the call by its reference, until EndCall is sent to it or StationGone comes from it. The called
//     station's record does from OfferResult{Accepted} on. What comes for a call that a record does not know any more is dropped: both ends may
//     end it at once.
//   - Each Offer is answered by one OfferResult. A calling side that has ended meanwhile does not matter: the call then sends EndCall.
//   - Setup is sent once the station was told CALL-PROCEEDING, and OfferResult{Accepted} together with CALL-ANNOUNCE to the called station.
//   - The station's record answers repeated requests, repeats the call's unanswered ones, and passes on each request and each response once.
//   - STATUS-ENQUIRY of a station in a call is forwarded as any other request; RESET is not: the record answers it, and StationGone comes.
//   - Each Allocate is answered by one Allocated, each Free by one Freed. Both are idempotent: to allocate again gives the same channel, to free
//     what is free is Freed.
package saga
