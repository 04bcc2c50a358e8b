#!/bin/sh
# Makes the test pictures of the demo: 24 seconds each, in fMP4 segments of two seconds, which the Go
# code loops as live. Run it only when a picture should change, and commit what it makes.
# It needs ffmpeg with libx264 and drawtext, and the DejaVu Sans font. No third party's work is in the output.
#
#   pattern/360p, pattern/240p   a moving test pattern in two variants
#   bars/240p                    colour bars in one variant
#
# 24 s is 12 segments, 600 frames of 25 fps, 1125 AAC frames of 48 kHz and a whole number of periods of
# both tones, so every track ends exactly where the loop begins again.
set -eu
cd "$(dirname "$0")"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# tone HZ: 24 s out of the middle of a longer tone. ADTS keeps no timestamps and no encoder delay, so
# the cut starts at zero like the picture, and neither an edit list nor a click is left at the wrap.
tone() {
	ffmpeg -hide_banner -loglevel warning -y -f lavfi -i "sine=frequency=$1:sample_rate=48000:duration=34" \
		-af volume=-18dB -c:a aac -ac 1 -b:a 24k "$tmp/long.aac"
	ffmpeg -hide_banner -loglevel warning -y -i "$tmp/long.aac" -ss 8 -t 24 -c copy -bsf:a aac_adtstoasc "$tmp/tone.m4a"
}

# picture FOLDER SOURCE TITLE SIZE CRF MAXRATE
picture() {
	rm -rf "$1" && mkdir -p "$1"
	# No B-frames: presentation order is decode order. One closed GOP a segment: a viewer may begin at any.
	ffmpeg -hide_banner -loglevel warning -y -f lavfi -i "$2=size=1280x720:rate=25" -i "$tmp/tone.m4a" \
		-filter_complex "[0:v]drawbox=x=0:y=ih*0.78:w=iw:h=ih*0.22:color=0x101820@0.88:t=fill,\
drawtext=font='DejaVu Sans':text='$3':fontcolor=white:fontsize=h*0.085:x=w*0.04:y=h*0.85,\
drawtext=font='DejaVu Sans\:bold':text='%{eif\:t\:d\:2}.%{eif\:mod(n,25)*4/10\:d} s':fontcolor=0xffc94d:fontsize=h*0.11:x=w*0.76:y=h*0.835,\
scale=$4:flags=lanczos,setsar=1,format=yuv420p[v]" \
		-map '[v]' -map 1:a -t 24 \
		-c:v libx264 -preset veryslow -profile:v high -crf "$5" -maxrate "$6" -bufsize "$6" \
		-bf 0 -g 50 -keyint_min 50 -sc_threshold 0 -x264-params open-gop=0 \
		-c:a copy -map_metadata -1 -fflags +bitexact -flags:v +bitexact \
		-f hls -hls_time 2 -hls_list_size 0 -hls_segment_type fmp4 -hls_flags independent_segments \
		-hls_fmp4_init_filename init.mp4 -hls_segment_filename "$1/%02d.m4s" "$1/index.m3u8"
	rm "$1/index.m3u8" # the demo writes its own, sliding one
}

tone 440
picture pattern/360p testsrc2 'Pointsman · pattern' 640:360 31 220k
picture pattern/240p testsrc2 'Pointsman · pattern' 426:240 33 100k
tone 660
picture bars/240p smptehdbars 'Pointsman · bars' 426:240 27 90k
