/**
 * API records as the service sends them. Services might change types, so most fields are `unknown` and are read through
 * `json-values.ts`. Only uids and playback tokens are validated on receipt. Sections are those of the specification.
 */

/** Fields that the specification does not show, preserved as sent. */
type ExtraFields = { [field: string]: unknown };

/** A page of results (§2 Page envelope). Fields other than `items` are assumption A01. */
export type PageEnvelope<T> = ExtraFields & { items: T[] };

/** A video or asset record (§2). Fields that the specification does not show are assumption A09. */
export type AssetRecord = ExtraFields & {
  uid: string;
  name?: unknown;
  description?: unknown;
  /** Processing status. The specification defines only `ready` (assumption A11). */
  status?: unknown;
  /** ISO 8601 timestamp. */
  created_at?: unknown;
  /** Seconds. */
  duration?: unknown;
  /** Absolute URL, or null. */
  thumbnail_url?: unknown;
  /** `video`, for example (assumption A12). */
  type?: unknown;
  /** Tags, usually as slugs (assumption A08). */
  tags?: unknown;
  /** Bytes. */
  size?: unknown;
};

/** Response of the player endpoints (§2 Player data). */
export type PlayerData = ExtraFields & {
  uid: string;
  /** Signed token that is valid for 4 hours and safe to expose in a browser. */
  playback_token: string;
  /** Object with `auto_play` (boolean) and `theme` (text). */
  player_config?: unknown;
  /** Entries with an `asset` object that contains `uid` and `thumbnail_url`. */
  items?: unknown;
};

/** Response of the playback info endpoint (§2), which depends on `type`. If `blocked` is true, playback is denied. */
export type PlaybackInfo = ExtraFields & {
  type?: unknown;
  blocked?: unknown;
  /** Signed URL of a video, like the next two fields: an object with `url` and `expires_at` (ISO 8601). */
  hls_url?: unknown;
  source_url?: unknown;
  preview_sprites_url?: unknown;
  /** Entries with `title` and `start_time` (seconds). */
  chapters?: unknown;
  /** Position at which playback resumes, in seconds, or null. */
  resume_position_seconds?: unknown;
  /** Audio file, as a URL string or an object with a signed `url` (assumption A14). */
  source?: unknown;
  subtitle_tracks?: unknown;
  waveform_url?: unknown;
  /** Versions of an image, as entries with `url`, `width` and `height` (assumption A15). */
  variants?: unknown;
  url?: unknown;
  thumbnails?: unknown;
  embed_url?: unknown;
};

/** A workspace record (§2). Its fields are assumption A10. */
export type WorkspaceRecord = ExtraFields & { uid: string; name?: unknown; is_primary?: unknown };

/** A folder record (§2). Its fields are assumptions A02 and A03. */
export type ApiFolder = ExtraFields & { uid: string };

/** An embed settings record (§2). The field names of the restriction and the allow-list are assumptions A05 and A06. */
export type EmbedRecord = ExtraFields;
