import Hls from 'hls.js/light';

// A script of its own, because only a video with HLS needs it, and only once it is played.
window.Hls = Hls;
