import { isUtf8 } from 'node:buffer';
import { CodedError, type Explanation, usageError } from '../errors.ts';
import { decodeText } from '../read-file.ts';

/** Usual names of the encodings of spreadsheets and editors that are not Unicode, the most common ones first. */
export const codePages: readonly string[] = [
  ...['windows-1252', 'windows-1250', 'windows-1251', 'windows-1253', 'windows-1254', 'windows-1255', 'windows-1256'],
  ...['windows-1257', 'windows-1258', 'windows-874', 'shift_jis', 'gb18030', 'big5', 'euc-kr', 'euc-jp', 'macintosh'],
  ...['iso-8859-15', 'iso-8859-2', 'ibm850', 'ibm437', 'ibm852', 'ibm866', 'koi8-r', 'koi8-u'],
];

/** Returns an encoding's name as iconv-lite compares it. */
const normalizeName = (encoding: string) => encoding.toLowerCase().replace(/[^0-9a-z]/g, '');

type UnicodeName = 'utf-8' | 'utf-16le' | 'utf-16be';

const unicodeNames = new Map<string, UnicodeName>([
  ['utf8', 'utf-8'],
  ['utf16', 'utf-16le'],
  ['utf16le', 'utf-16le'],
  ['utf16be', 'utf-16be'],
]);

/** Returns the encoding whose byte order mark a file begins with. */
function markOf([first, second, third]: Buffer): UnicodeName | undefined {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  return first === 0xef && second === 0xbb && third === 0xbf ? 'utf-8' : undefined;
}

/** Returns true if a file is UTF-8, with or without a byte order mark, or has that of UTF-16. */
export const isUnicode = (bytes: Buffer) => markOf(bytes)?.startsWith('utf-16') === true || isUtf8(bytes);

/** Returns a file without the byte order mark of UTF-8. */
export const withoutUtf8Mark = (bytes: Buffer) => (markOf(bytes) === 'utf-8' ? bytes.subarray(3) : bytes);

/** Returns the text of a file in UTF-8, part by part, from the start. A letter can be in two parts. */
export type Utf8Parts = () => Generator<Buffer>;

/**
 * Returns the text of a file in UTF-8 without a byte order mark. A file whose encoding is not named is UTF-8 or, if it
 * begins with a byte order mark, UTF-16.
 *
 * @param name name of the file, for errors
 * @param encoding name of the encoding, such as `windows-1250`
 * @throws CodedError `usage` (exit 2) if the encoding is not known, or the file is not valid in it
 */
export async function toUtf8(bytes: Buffer, name: string, encoding: string | undefined): Promise<Utf8Parts> {
  const mark = markOf(bytes);
  if (encoding !== undefined && mark && !normalizeName(mark).startsWith(normalizeName(encoding))) {
    const reason = `it begins with the byte order mark of ${mark}`;
    throw encodingError(name, encoding, { reason, remedy: ['name_encoding', mark] });
  }
  const unicode = mark ?? unicodeNames.get(normalizeName(encoding ?? 'utf-8'));
  if (unicode) {
    const text = unicode === 'utf-8' ? checkUtf8(withoutUtf8Mark(bytes), name) : fromUtf16(bytes, name, unicode);
    return () => partsOf(text);
  }
  const named = encoding as string;
  const createDecoder = await loadEncoding(named);
  // Decodes twice, to check the whole file first without keeping its text.
  const decode = function* () {
    const decoder = createDecoder();
    for (const part of partsOf(bytes)) yield decoder.write(part);
    yield decoder.end();
  };
  let line = 1;
  for (const text of decode()) {
    assertDecoded(text, /\uFFFD/, { name, encoding: named, line });
    line += text.split('\n').length - 1;
  }
  return function* () {
    for (const text of decode()) yield Buffer.from(text);
  };
}

/** Bytes that are decoded and parsed at once, so that a large file does not fill the memory. */
const partBytes = 32 * 1024;

function* partsOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += partBytes) yield bytes.subarray(at, at + partBytes);
}

/** Creates an error for a file that is not in the encoding. */
export const encodingError = (name: string, encoding: string, explanation: Omit<Explanation, 'code'>) =>
  new CodedError(`${name} is not valid ${encoding}`, { code: 'usage', ...explanation });

const brokenLine = (name: string, encoding: string, line: number) =>
  encodingError(name, encoding, { reason: `line ${line} cannot be decoded`, remedy: ['name_encoding'] });

function checkUtf8(text: Buffer, name: string): Buffer {
  // UTF-16 without a byte order mark begins with a letter of ASCII, of which one byte is zero.
  const [first, second] = text;
  if (first === 0 || second === 0) {
    const remedy = ['name_encoding', first === 0 ? 'utf-16be' : 'utf-16le'] as const;
    throw encodingError(name, 'UTF-8', { reason: 'it seems to be UTF-16 without a byte order mark', remedy });
  }
  if (!isUtf8(text)) throw brokenLine(name, 'UTF-8', 1 + [...linesOf([text])].findIndex((line) => !isUtf8(line)));
  return text;
}

/** Returns the lines of a text whose line ends are LF or CRLF, without the LF. */
export function* linesOf(parts: Iterable<Buffer>): Generator<Buffer> {
  let begun: Buffer[] = [];
  for (const part of parts) {
    let at = 0;
    for (let end = part.indexOf(0x0a); end >= 0; end = part.indexOf(0x0a, at)) {
      const rest = part.subarray(at, end);
      yield begun.length > 0 ? Buffer.concat([...begun, rest]) : rest;
      begun = [];
      at = end + 1;
    }
    if (at < part.length) begun.push(part.subarray(at));
  }
  if (begun.length > 0) yield Buffer.concat(begun);
}

function fromUtf16(bytes: Buffer, name: string, encoding: UnicodeName): Buffer {
  const mark = Buffer.from(encoding === 'utf-16le' ? [0xff, 0xfe] : [0xfe, 0xff]);
  const text = decodeText(markOf(bytes) ? bytes : Buffer.concat([mark, bytes]));
  assertDecoded(text, /\p{Surrogate}/u, { name, encoding, line: 1 });
  if (bytes.length % 2 > 0) throw brokenLine(name, encoding, text.split('\n').length);
  return Buffer.from(text);
}

/** @param line line at which the text begins */
function assertDecoded(
  text: string,
  invalid: RegExp,
  { name, encoding, line }: Record<'name' | 'encoding', string> & { line: number },
) {
  const at = text.search(invalid);
  if (at >= 0) throw brokenLine(name, encoding, line + text.slice(0, at).split('\n').length - 1);
}

/** Decodes bytes, one part after the other. Those that are invalid in the encoding become U+FFFD. */
type Decoder = { write(bytes: Buffer): string; end(): string };

/**
 * Returns a function that creates decoders of an encoding.
 *
 * @throws CodedError `usage` (exit 2) if the encoding is not known
 */
async function loadEncoding(encoding: string): Promise<() => Decoder> {
  const { default: iconv } = await import('iconv-lite');
  const normalized = normalizeName(encoding);
  // These two are no encodings of text.
  if (!iconv.encodingExists(encoding) || normalized === 'hex' || normalized === 'base64') {
    const hint = `use one of utf-8, utf-16le, ${codePages.join(', ')}`;
    throw usageError(`unknown encoding ${encoding}`, hint);
  }
  // In iconv-lite, Mac Roman has the currency sign, which the euro sign replaced in 1998.
  const isMacRoman = ['mac', 'macintosh', 'macroman'].includes(normalized);
  return () => {
    const decoder = iconv.getDecoder(encoding);
    return {
      write: (bytes) => (isMacRoman ? decoder.write(bytes).replaceAll('¤', '€') : decoder.write(bytes)),
      end: () => decoder.end() ?? '',
    };
  };
}

/** Returns a function that decodes texts in an encoding. @throws CodedError `usage` (exit 2) if it is not known */
export async function loadDecoder(encoding: string): Promise<(bytes: Buffer) => string> {
  const createDecoder = await loadEncoding(encoding);
  return (bytes) => {
    const decoder = createDecoder();
    return decoder.write(bytes) + decoder.end();
  };
}
