import { extractReason } from '../../../../client/http/error-reason.ts';
import { readRateLimit } from '../../../../client/http/rate-limit-headers.ts';
import { paths } from '../../../../contract/paths.ts';
import { asObject, isJsonObject } from '../../../../shared/json-values.ts';
import { type ServiceProbe, unknownUid } from './probe.ts';
import { type AssumptionCheck, doesNotHold, holds, type Judgment, listNames, notTried } from './verdict.ts';

async function judgeErrors(probe: ServiceProbe): Promise<Judgment> {
  const url = paths.collection('assets');
  const keyless = await probe.send({ method: 'GET', url, query: { limit: 1 }, authenticate: false });
  if (keyless.isOk) return doesNotHold(`${keyless.line} without a key, not 401`);
  const missing = await probe.get(paths.item('assets', unknownUid));
  // A limit of 0 may be accepted as another one.
  const invalid = await probe.get(url, { limit: 0 });
  const answers = [keyless, missing, invalid].filter(({ isOk }) => !isOk);
  const broken = answers.find(({ status }) => status >= 500);
  if (broken) return notTried(broken.line);
  for (const answer of answers) {
    const what = answer === keyless ? `${answer.line} without a key` : answer.line;
    const { error } = asObject(answer.body);
    // Without a message the client would show the whole body.
    const isUnread = isJsonObject(answer.body) && extractReason(answer.response).message?.startsWith('{');
    if (isUnread)
      return doesNotHold(`${what}; the error has ${listNames(Object.keys(asObject(error ?? answer.body)))}`);
    if (extractReason(answer.response).message === undefined) return doesNotHold(`${what}, without a message`);
  }
  return holds(answers.map(({ line }) => line).join('; '));
}

async function judgeRateLimit(probe: ServiceProbe): Promise<Judgment> {
  const { first } = await probe.assets();
  const limit = readRateLimit(first.response.headers, first.response.receivedAt);
  return notTried(
    `only a used-up rate limit tells; the service ${limit ? `shows one of ${limit.limit}` : 'shows none'}`,
  );
}

export const errorChecks: readonly AssumptionCheck[] = [
  { id: 'A13', sends: 'GET an asset that does not exist, a limit of 0, and without a key', judge: judgeErrors },
  { id: 'A23', sends: 'GET /assets/', judge: judgeRateLimit },
];
