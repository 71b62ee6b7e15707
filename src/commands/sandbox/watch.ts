import type { Command } from '@commander-js/extra-typings';
import { exitCodes, MediactlError } from '../../errors.ts';
import { nothing, text } from '../../terminal/result.ts';
import { assetUidIn, idHelp } from '../assets/resolve.ts';
import { example, type Run } from '../command.ts';
import { openWithDefault } from '../play/open.ts';
import { dataOption, placeOf } from './place.ts';
import { findRunning, readKeys } from './server.ts';

export function watch(command: Command, run: Run): void {
  example(command, 'mediactl sandbox watch @last', 'mediactl sandbox watch @last --open');
  command
    .summary('print the address of the page that plays an asset')
    .description(
      'Prints the address of the sandbox’s own page for an asset: for a browser, or for an iframe that tries the embed restriction. It works for as long as a playback token does.',
    )
    .argument('<id>', idHelp)
    .option('--open', 'open it in the browser')
    .option(...dataOption)
    .action(
      run(async (context, id, { open, data }) => {
        const { dataDir, profile } = await placeOf(context, data);
        const running = await findRunning(context, dataDir);
        if (!running) throw notRunning();
        const { all } = await readKeys(dataDir);
        context.terminal.redactor.add(all);
        const api = context.apiFor({ baseUrl: new URL(running.url), apiKey: all, names: {} });
        try {
          const uid = await assetUidIn(context, async () => ({ api, profile }), id, 'assets');
          const { playback_token } = await api.assets.player(uid);
          const url = new URL(`/watch/${uid}`, running.url);
          url.searchParams.set('token', playback_token);
          if (!open) return text(url.href);
          if (!context.onlyPretends(`open ${url.origin}${url.pathname}`))
            await openWithDefault(context, url, `mediactl sandbox watch ${id} prints its address`);
          return nothing;
        } finally {
          await api.transport.close();
        }
      }),
    );
}

const notRunning = () =>
  new MediactlError('no sandbox is running', {
    code: 'not_running',
    exitCode: exitCodes.notFound,
    hint: 'mediactl sandbox start',
  });
