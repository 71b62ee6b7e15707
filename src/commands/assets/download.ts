import type { Command } from '@commander-js/extra-typings';
import { type Expected, isAnyType, isTextType } from '../../api/download.ts';
import { assetUid, idHelp } from '../../library/assets.ts';
import { type Playable, playables, sizesUnknown } from '../../library/playables.ts';
import { assertNotBlocked, nothingToPlay, resolvePlayback } from '../../library/playback.ts';
import { nothing } from '../../terminal/result.ts';
import type { Collection } from '../../wire/paths.ts';
import { numberIn, textIn } from '../../wire/reading.ts';
import type { Asset } from '../../wire/types.ts';
import { example, type Run } from '../command.ts';
import { fileNameFor } from './file-name.ts';
import { save } from './save.ts';

/** What the record says of the file; what is offered of a sound, an image or a document may be made from it. */
function expectedOf(
  { size, content_type }: Asset,
  { kind }: Playable,
  playbackType: unknown,
): Expected {
  const recorded = textIn(content_type);
  const type = recorded && isAnyType(recorded) ? undefined : recorded;
  return {
    sizeBytes: numberIn(size),
    contentType: recorded,
    mayBeRendition: kind !== 'file' || playbackType === 'audio',
    mayBeText: kind === 'document' && (type === undefined || isTextType(type)),
    mayBeHtml: kind === 'document' && /html/i.test(type ?? 'html'),
  };
}

/** What is a file, whole: no playlist, no page of somebody else. */
const files: readonly Playable['kind'][] = ['file', 'image', 'document'];

export function download(command: Command, run: Run, collection: Collection): void {
  example(
    command,
    `mediactl ${collection} download @last`,
    `mediactl ${collection} download @last -o master.mp4 --yes`,
  );
  command
    .summary('download the file of an asset')
    .description(
      'Downloads the source of a video or audio, the largest variant of an image, or a document. A broken line is taken up where it broke; a file that is there is replaced with --yes only.',
    )
    .argument('<id>', idHelp)
    .option('-o, --output <file>', 'where to; - for stdout (the asset’s name by default)')
    .action(
      run(async (context, id, { output }) => {
        const api = await context.api();
        const uid = await assetUid(context, collection, id);
        const asset = await api[collection].get(uid);
        const { info } = await resolvePlayback(context, uid);
        assertNotBlocked(uid, info);
        const { found, areOrdered, unusable } = playables(info, api.transport.baseUrl);
        const [source] = found.filter(({ kind }) => files.includes(kind));
        if (!source) throw nothingToPlay(uid, info, unusable, 'file');
        if (source.kind === 'image' && !areOrdered) throw sizesUnknown(uid);
        const path = output ?? fileNameFor(asset.name, uid, null);
        if (context.isDryRun(`save ${source.url.origin}${source.url.pathname} as ${path}`))
          return nothing;
        return save(
          context,
          { assetUid: uid, url: source.url, expected: expectedOf(asset, source, info.type) },
          path,
        );
      }),
    );
}
