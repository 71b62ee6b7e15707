/**
 * The records of the API as it sends them: snake_case, every field the specification names, and
 * room for those it does not show. A service may send anything under any name, and the record is kept
 * as it came: fields are `unknown` and read through `reading.ts`, but for the uid, which is checked
 * where a record comes in. Section numbers are those of the External REST API Specification.
 */

/** A record may always carry fields that the specification does not show; they are kept as sent. */
type Unshown = { [field: string]: unknown };

/** §2 Page envelope. What stands beside `items` is assumption A01. */
export type Page<T> = Unshown & { items: T[] };

/** §2 Video and asset records. Fields past the named ones are assumption A09. */
export type Asset = Unshown & {
  uid: string;
  /** Text. */
  name?: unknown;
  /** Text. */
  description?: unknown;
  /** Processing status; only `ready` is named by the specification (A11). */
  status?: unknown;
  /** ISO 8601. */
  created_at?: unknown;
  /** Seconds. */
  duration?: unknown;
  /** Absolute URL, or null. */
  thumbnail_url?: unknown;
  /** A12; `generic` is the fourth list-item shape of §2. */
  type?: unknown;
  /** Slugs. */
  tags?: unknown;
  /** Bytes. */
  size?: unknown;
};

/** §2 Player data: the answer of the player endpoints. */
export type PlayerData = Unshown & {
  uid: string;
  /** Signed, valid for 4 hours, safe in a browser. */
  playback_token: string;
  /** `auto_play` (boolean), `theme` (text). */
  player_config?: unknown;
  /** Entries with an `asset` of `uid` and `thumbnail_url`. */
  items?: unknown;
};

/** §2 Playback info: polymorphic on `type`. Nothing is to be played when `blocked`. */
export type PlaybackInfo = Unshown & {
  type?: unknown;
  blocked?: unknown;
  /** Of a video: signed URLs, `url` and `expires_at` (ISO 8601). */
  hls_url?: unknown;
  source_url?: unknown;
  preview_sprites_url?: unknown;
  /** Entries `title`, `start_time` in seconds. */
  chapters?: unknown;
  /** Seconds, or null. */
  resume_position_seconds?: unknown;
  /** Audio; text or signed URL (A14). */
  source?: unknown;
  subtitle_tracks?: unknown;
  waveform_url?: unknown;
  /** Image: entries `url`, `width`, `height` (A15). */
  variants?: unknown;
  /** Document. */
  url?: unknown;
  thumbnails?: unknown;
  /** Third party: an iframe of the provider. */
  embed_url?: unknown;
};

/** §2 Workspace; its fields are assumption A10. */
export type Workspace = Unshown & { uid: string; name?: unknown; is_primary?: unknown };

/** §2 Folder; its fields are assumptions A02 and A03. */
export type Folder = Unshown & { uid: string };

/** §2 Embed settings; the names of the restriction and the allow-list are A05 and A06. */
export type EmbedRecord = Unshown;
