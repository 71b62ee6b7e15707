/** What the media worker is given, and what it answers. */
export type Task = { sourcePath: string; hlsDir: string; filename: string };

export type Inspection =
  | {
      outcome: 'ready';
      type: string;
      contentType: string;
      /** Seconds. */
      duration: number | null;
      width: number | null;
      height: number | null;
      hasHls: boolean;
      chapters: { title: string; start_time: number }[];
    }
  | { outcome: 'failed'; reason: string };
