/**
 * API records as the service sends them, in snake_case. Services may add fields or change types, so every field
 * is `unknown` and read through `json-values.ts`, except the uid, which is validated on receipt. Section numbers
 * refer to the External REST API Specification.
 */

/** Fields that the specification does not show, preserved as sent. */
type ExtraFields = { [field: string]: unknown };

/** A page of a list (§2 Page envelope). Fields other than `items` are assumption A01. */
export type PageEnvelope<T> = ExtraFields & { items: T[] };

/** A video or asset record (§2). Fields beyond the specified ones are assumption A09. */
export type Asset = ExtraFields & {
  uid: string;
  /** Text. */
  name?: unknown;
  /** Text. */
  description?: unknown;
  /** Processing status. The specification defines only `ready` (A11). */
  status?: unknown;
  /** ISO 8601. */
  created_at?: unknown;
  /** Seconds. */
  duration?: unknown;
  /** Absolute URL, or null. */
  thumbnail_url?: unknown;
  /** Asset type (A12). `generic` is the fourth list-item shape of §2. */
  type?: unknown;
  /** Slugs. */
  tags?: unknown;
  /** Bytes. */
  size?: unknown;
};

/** Response of the player endpoints (§2 Player data). */
export type PlayerData = ExtraFields & {
  uid: string;
  /** Signed token, valid for 4 hours, safe to expose in a browser. */
  playback_token: string;
  /** `auto_play` (boolean), `theme` (text). */
  player_config?: unknown;
  /** Entries with an `asset` object: `uid` and `thumbnail_url`. */
  items?: unknown;
};

/** Response of the playback info endpoint (§2), polymorphic on `type`. The asset cannot be played if `blocked` is true. */
export type PlaybackInfo = ExtraFields & {
  type?: unknown;
  blocked?: unknown;
  /** Video: signed URLs, `url` and `expires_at` (ISO 8601). */
  hls_url?: unknown;
  source_url?: unknown;
  preview_sprites_url?: unknown;
  /** Entries with `title` and `start_time` in seconds. */
  chapters?: unknown;
  /** Seconds, or null. */
  resume_position_seconds?: unknown;
  /** Audio: a string or a signed URL (A14). */
  source?: unknown;
  subtitle_tracks?: unknown;
  waveform_url?: unknown;
  /** Image: entries with `url`, `width` and `height` (A15). */
  variants?: unknown;
  /** Document. */
  url?: unknown;
  thumbnails?: unknown;
  /** Third party: URL of the provider’s iframe. */
  embed_url?: unknown;
};

/** A workspace record (§2). Its fields are assumption A10. */
export type Workspace = ExtraFields & { uid: string; name?: unknown; is_primary?: unknown };

/** A folder record (§2). Its fields are assumptions A02 and A03. */
export type ApiFolder = ExtraFields & { uid: string };

/** An embed settings record (§2). The field names of the restriction and the allow-list are assumptions A05 and A06. */
export type EmbedRecord = ExtraFields;
