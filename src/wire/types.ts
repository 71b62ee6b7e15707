/**
 * The records of the API as it sends them: snake_case, every field the specification names, and
 * room for those it does not show. Section numbers are those of the External REST API Specification.
 */

/** A record may always carry fields that the specification does not show; they are kept as sent. */
type Unshown = { [field: string]: unknown };

/** §2 Page envelope. What stands beside `items` is assumption A01. */
export type Page<T> = Unshown & { items: T[] };

/** §1: the kinds of asset. `generic` is the fourth list-item shape of §2. */
type AssetType = 'video' | 'audio' | 'image' | 'document' | 'third_party' | 'generic';

/** §2 Video and asset records. Fields past the named ones are assumption A09. */
export type Asset = Unshown & {
  uid: string;
  name?: string;
  description?: string;
  /** Processing status; only `ready` is named by the specification (A11). */
  status?: string;
  /** ISO 8601. */
  created_at?: string;
  /** Seconds. */
  duration?: number | null;
  /** Absolute URL. */
  thumbnail_url?: string | null;
  type?: AssetType | (string & {});
  tags?: unknown[];
  /** Bytes. */
  size?: number;
};

/** §2 Player data: the answer of the player endpoints. */
export type PlayerData = Unshown & {
  uid: string;
  /** Signed, valid for 4 hours, safe in a browser. */
  playback_token: string;
  player_config: Unshown & { auto_play?: boolean; theme?: string };
  items: (Unshown & { asset: Unshown & { uid: string; thumbnail_url?: string | null } })[];
};

/** A signed URL and the moment it stops working (ISO 8601). */
export type SignedUrl = Unshown & { url: string; expires_at?: string };

/** §2 Playback info: polymorphic on `type`. Nothing is to be played when `blocked`. */
export type PlaybackInfo = Unshown & {
  type: string;
  blocked?: boolean;
  hls_url?: SignedUrl | null;
  source_url?: SignedUrl | null;
  preview_sprites_url?: SignedUrl | null;
  /** `start_time` in seconds. */
  chapters?: { title: string; start_time: number }[];
  resume_position_seconds?: number | null;
  /** Audio; string or signed URL (A14). */
  source?: string | SignedUrl | null;
  subtitle_tracks?: unknown[];
  waveform_url?: string | SignedUrl | null;
  /** Image (A15). */
  variants?: (Unshown & {
    url?: string | SignedUrl;
    width?: number | null;
    height?: number | null;
  })[];
  /** Document. */
  url?: string | null;
  thumbnails?: unknown[];
  /** Third party: an iframe of the provider. */
  embed_url?: string | null;
};

/** §2 Workspace; its fields are assumption A10. */
export type Workspace = Unshown & { uid: string; name?: string; is_primary?: boolean };

/** §2 Folder; its fields are assumptions A02 and A03. */
export type Folder = Unshown & { uid: string; name?: string; children?: Folder[] };

/** §2 Embed settings; the names of the restriction and the allow-list are A05 and A06. */
export type EmbedRecord = Unshown;

/** §2 Upload session: the answer of POST /upload/. */
export type UploadSession = Unshown & {
  uid: string;
  /** Path of the session; may be relative to the base URL. */
  location: string;
  /** The asset exists from this moment. */
  asset_uid: string;
  /** Bytes. */
  total_size?: number;
  /** ISO 8601; sessions expire after 24 hours. */
  expires_at?: string;
};
