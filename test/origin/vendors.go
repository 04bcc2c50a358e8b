package main

import (
	"fmt"
	"net/url"
	"time"

	"github.com/pointsman-tv/pointsman/test/fake"
)

// kinds are the types as help and errors list them.
const kinds = "flussonic, nimble, mistserver, mediamtx, wowza, antmedia or generic"

// vendor is one type of server: how it is made, and what can be asked of it,
// as paths.
type vendor struct {
	application string // where its channels are, empty when they are in none
	ports       bool   // a real one has its interface on another port, so that api_url must be set
	new         func(settings) origin
	name        func(settings) string // of the channel, as the fake knows it
	live        func(settings) string
	archive     func(s settings, from, to time.Time) []string
	interfaces  func(settings) []string
}

func plain(s settings) string  { return s.channel }
func inside(s settings) string { return s.application + "/" + s.channel }

// escaped writes a name as a path.
func escaped(name string) string { return (&url.URL{Path: "/" + name}).EscapedPath() }

func vendors() map[string]vendor {
	return map[string]vendor{
		"flussonic": {
			new: func(s settings) origin {
				return fake.NewFlussonic(fake.FlussonicOptions{User: s.user, Password: s.secret})
			},
			name: plain,
			live: func(s settings) string { return escaped(s.channel) + "/index.m3u8" },
			archive: func(s settings, from, to time.Time) []string {
				return []string{fmt.Sprintf("%s/archive-%d-%d.m3u8", escaped(s.channel), from.Unix(), seconds(from, to))}
			},
			interfaces: func(s settings) []string {
				stream := "/streamer/api/v3/streams/" + url.PathEscape(s.channel)
				return []string{stream, stream + "/dvr/ranges", escaped(s.channel) + "/recording_status.json?from=1&to=now&request=ranges"}
			},
		},
		"nimble": {
			application: "live", ports: true,
			new:  func(s settings) origin { return fake.NewNimble(fake.NimbleOptions{Token: s.secret}) },
			name: inside,
			live: func(s settings) string { return escaped(inside(s)) + "/playlist.m3u8" },
			archive: func(s settings, from, to time.Time) []string {
				return []string{fmt.Sprintf("%s/playlist_dvr_range-%d-%d.m3u8", escaped(inside(s)), from.Unix(), seconds(from, to))}
			},
			interfaces: func(s settings) []string {
				return []string{"/manage/live_streams_status", "/manage/dvr_status" + escaped(inside(s)) + "?timeline=true"}
			},
		},
		"mistserver": {
			new:  func(settings) origin { return fake.NewMistServer(fake.MistServerOptions{}) },
			name: plain,
			live: func(s settings) string { return "/hls" + escaped(s.channel) + "/index.m3u8" },
			archive: func(s settings, from, to time.Time) []string {
				return []string{fmt.Sprintf("/hls%s/index.m3u8?startunix=%d&stopunix=%d", escaped(s.channel), from.Unix(), to.Unix())}
			},
			interfaces: func(s settings) []string { return []string{"/json_" + url.PathEscape(s.channel) + ".js"} },
		},
		"mediamtx": {
			ports: true,
			new: func(s settings) origin {
				return fake.NewMediaMTX(fake.MediaMTXOptions{User: s.user, Secret: s.secret})
			},
			name: plain,
			live: func(s settings) string { return escaped(s.channel) + "/index.m3u8" },
			archive: func(s settings, from, to time.Time) []string {
				return []string{fmt.Sprintf("/get?path=%s&start=%s&duration=%d", url.QueryEscape(s.channel), from.UTC().Format(time.RFC3339), seconds(from, to))}
			},
			interfaces: func(s settings) []string {
				return []string{"/v3/paths/get" + escaped(s.channel), "/list?path=" + url.QueryEscape(s.channel)}
			},
		},
		"wowza": {
			application: "live", ports: true,
			new: func(s settings) origin {
				opt := fake.WowzaOptions{Application: s.application, User: s.user, Secret: s.secret}
				if s.user != "" {
					opt.Auth = fake.WowzaDigest
				}
				return fake.NewWowza(opt)
			},
			name: plain,
			live: func(s settings) string { return escaped(inside(s)) + "/playlist.m3u8" },
			archive: func(s settings, from, to time.Time) []string {
				return []string{fmt.Sprintf("%s/playlist.m3u8?DVR&wowzadvrplayliststart=%s&wowzadvrplaylistduration=%d",
					escaped(inside(s)), from.UTC().Format("20060102150405"), to.Sub(from).Milliseconds())}
			},
			interfaces: func(s settings) []string {
				base := "/v2/servers/_defaultServer_/vhosts/_defaultVHost_/applications/" + url.PathEscape(s.application) + "/instances/_definst_/"
				return []string{base + "incomingstreams/" + url.PathEscape(s.channel), base + "dvrstores"}
			},
		},
		"antmedia": {
			application: "LiveApp",
			new: func(s settings) origin {
				return fake.NewAntMedia(fake.AntMediaOptions{Application: s.application, Token: s.secret})
			},
			name: plain,
			live: func(s settings) string { return "/" + s.application + "/streams" + escaped(s.channel) + ".m3u8" },
			archive: func(s settings, from, to time.Time) []string {
				return []string{fmt.Sprintf("/%s/streams%s.m3u8?start=%d&end=%d", s.application, escaped(s.channel), from.Unix(), to.Unix())}
			},
			interfaces: func(s settings) []string {
				return []string{"/" + s.application + "/rest/v2/broadcasts/" + url.PathEscape(s.channel)}
			},
		},
		"generic": {
			new:  func(s settings) origin { return fake.NewGeneric(fake.GenericOptions{GapTags: s.gapTags}) },
			name: plain,
			live: func(s settings) string { return escaped(s.channel) + "/index.m3u8" },
			archive: func(s settings, from, to time.Time) []string {
				u := fmt.Sprintf("%s/archive-%d-%d.", escaped(s.channel), from.Unix(), seconds(from, to))
				return []string{u + "m3u8", u + "mpd"}
			},
			interfaces: func(settings) []string { return nil },
		},
	}
}

func seconds(from, to time.Time) int64 { return int64(to.Sub(from) / time.Second) }
