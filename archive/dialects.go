package archive

// dialect is the index of a built-in dialect, in the order in which they are
// tried.
type dialect uint8

// The dialects: specific before generic, times in the path before times in the
// query.
const (
	dialectFlussonicArchive dialect = iota
	dialectFlussonicArchiveLegacy
	dialectFlussonicTimeshiftAbs
	dialectFlussonicTimeshiftRel
	dialectFlussonicRewind
	dialectFlussonicSmooth
	dialectNimbleRange
	dialectNimbleTimeshift
	dialectNimbleDVR
	dialectXtreamPath
	dialectXtreamQuery
	dialectWowzaDVR
	dialectUnifiedSubclip
	dialectUnifiedTimeshift
	dialectUnifiedLive
	dialectUnifiedVoD
	dialectMediaPackage1
	dialectMediaPackage2
	dialectMistRange
	dialectMistLive
	dialectMediaMTXGet
	dialectPlayseek
	dialectApsara
	dialectAntMedia
	dialectQueryChannel
	dialectKodiCutv
	dialectSiptvShift
	dialectGenericStartEnd
	dialectTvhLive
	dialectTvhRecording
	dialectVoDPath
	dialectLiveGeneric
	dialectLiveFlat
	dialectCount
)

// dialects holds each dialect's name and the parameters without which it cannot
// match: one of each set.
var dialects = [dialectCount]struct {
	name string
	need [3]paramSet
}{
	dialectFlussonicArchive:       {name: "flussonic-archive"},
	dialectFlussonicArchiveLegacy: {name: "flussonic-archive-legacy"},
	dialectFlussonicTimeshiftAbs:  {name: "flussonic-timeshift-abs"},
	dialectFlussonicTimeshiftRel:  {name: "flussonic-timeshift-rel"},
	dialectFlussonicRewind:        {name: "flussonic-rewind"},
	dialectFlussonicSmooth:        {name: "flussonic-mss"},
	dialectNimbleRange:            {name: "nimble-range"},
	dialectNimbleTimeshift:        {name: "nimble-timeshift"},
	dialectNimbleDVR:              {name: "nimble-dvr"},
	dialectXtreamPath:             {name: "xtream-timeshift-path"},
	dialectXtreamQuery:            {name: "xtream-timeshift-query", need: [3]paramSet{setOf(paramStream), setOf(paramStart)}},
	dialectWowzaDVR:               {name: "wowza-ndvr", need: [3]paramSet{setOf(paramDVR)}},
	dialectUnifiedSubclip:         {name: "usp-subclip", need: [3]paramSet{setOf(paramVbegin)}},
	dialectUnifiedTimeshift:       {name: "usp-timeshift", need: [3]paramSet{setOf(paramTimeShift)}},
	dialectUnifiedLive:            {name: "usp-live"},
	dialectUnifiedVoD:             {name: "usp-vod"},
	dialectMediaPackage1:          {name: "mediapackage-v1", need: [3]paramSet{setOf(paramStart)}},
	dialectMediaPackage2:          {name: "mediapackage-v2", need: [3]paramSet{setOf(paramAWS)}},
	dialectMistRange:              {name: "mist-range", need: [3]paramSet{setOf(paramStartunix)}},
	dialectMistLive:               {name: "mist-live"},
	dialectMediaMTXGet:            {name: "mediamtx-get", need: [3]paramSet{setOf(paramPath), setOf(paramStart), setOf(paramDuration)}},
	dialectPlayseek:               {name: "playseek", need: [3]paramSet{setOf(paramPlayseek, paramTvdr)}},
	dialectApsara:                 {name: "apsara-lhs", need: [3]paramSet{setOf(paramLHS)}},
	dialectAntMedia:               {name: "antmedia-range", need: [3]paramSet{setOf(paramStart), setOf(paramEnd)}},
	dialectQueryChannel:           {name: "query-channel", need: [3]paramSet{setOf(paramChannel, paramCh, paramStreamID, paramID)}},
	dialectKodiCutv:               {name: "kodi-cutv", need: [3]paramSet{setOf(paramCutv)}},
	dialectSiptvShift:             {name: "siptv-shift", need: [3]paramSet{setOf(paramUtc)}},
	dialectGenericStartEnd:        {name: "generic-start-end", need: [3]paramSet{setOf(paramStart, paramBegin, paramStartTime, paramFrom, paramArchiveStart)}},
	dialectTvhLive:                {name: "tvh-live"},
	dialectTvhRecording:           {name: "tvh-recording"},
	dialectVoDPath:                {name: "vod-path"},
	dialectLiveGeneric:            {name: "live-generic"},
	dialectLiveFlat:               {name: "live-flat"},
}

// Names returns the names of the built-in dialects in the order in which they
// are tried.
func Names() []string {
	names := make([]string, dialectCount)
	for d := range dialects {
		names[d] = dialects[d].name
	}
	return names
}

// match reports whether a dialect reads a URL, and how. A switch and no table of
// functions: through a pointer the compiler cannot see that nothing outlives the
// call, and every URL would cost an allocation.
func (d dialect) match(in *input, h *hit) bool {
	if need := &dialects[d].need; need[0] != 0 {
		have := in.query.have
		if need[0]&have == 0 || need[1] != 0 && need[1]&have == 0 || need[2] != 0 && need[2]&have == 0 {
			return false
		}
	}
	switch d {
	case dialectFlussonicArchive:
		return flussonicArchive(in, h)
	case dialectFlussonicArchiveLegacy:
		return flussonicArchiveLegacy(in, h)
	case dialectFlussonicTimeshiftAbs:
		return flussonicTimeshiftAbs(in, h)
	case dialectFlussonicTimeshiftRel:
		return flussonicTimeshiftRel(in, h)
	case dialectFlussonicRewind:
		return flussonicRewind(in, h)
	case dialectFlussonicSmooth:
		return flussonicSmooth(in, h)
	case dialectNimbleRange:
		return nimbleRange(in, h)
	case dialectNimbleTimeshift:
		return nimbleTimeshift(in, h)
	case dialectNimbleDVR:
		return nimbleDVR(in, h)
	case dialectXtreamPath:
		return xtreamPath(in, h)
	case dialectXtreamQuery:
		return xtreamQuery(in, h)
	case dialectWowzaDVR:
		return wowzaDVR(in, h)
	case dialectUnifiedSubclip:
		return unifiedSubclip(in, h)
	case dialectUnifiedTimeshift:
		return unifiedTimeshift(in, h)
	case dialectUnifiedLive:
		return unifiedLive(in, h)
	case dialectUnifiedVoD:
		return unifiedVoD(in, h)
	case dialectMediaPackage1:
		return mediaPackage1(in, h)
	case dialectMediaPackage2:
		return mediaPackage2(in, h)
	case dialectMistRange:
		return mistRange(in, h)
	case dialectMistLive:
		return mistLive(in, h)
	case dialectMediaMTXGet:
		return mediaMTXGet(in, h)
	case dialectPlayseek:
		return playseek(in, h)
	case dialectApsara:
		return apsara(in, h)
	case dialectAntMedia:
		return antMedia(in, h)
	case dialectQueryChannel:
		return queryChannel(in, h)
	case dialectKodiCutv:
		return kodiCutv(in, h)
	case dialectSiptvShift:
		return siptvShift(in, h)
	case dialectGenericStartEnd:
		return genericStartEnd(in, h)
	case dialectTvhLive:
		return tvhLive(in, h)
	case dialectTvhRecording:
		return tvhRecording(in, h)
	case dialectVoDPath:
		return vodPath(in, h)
	case dialectLiveGeneric:
		return liveGeneric(in, h)
	case dialectLiveFlat:
		return liveFlat(in, h)
	case dialectCount:
	}
	return false
}
