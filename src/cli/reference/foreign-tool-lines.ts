import { type ForeignLine, noCopy } from './foreign-commands.ts';

/** Lines of which the first word is no command of mediactl. */
export const toolLines: readonly ForeignLine[] = [
  {
    after: [''],
    line: /^(?:cp|copy|mv|sync|rsync) [\w.-]+:\S* [\w.-]+:\S*$/,
    cannot: 'no command copies from one account to another',
    use: 'mediactl download /FOLDER -d DIR --profile ONE; mediactl sync DIR /FOLDER --profile OTHER',
  },
  { after: [''], line: /^(?:cp|copy) (?:-\S+ )*(\S+) (\/\S*)$/, is: 'file', use: 'mediactl upload {1} {2}' },
  { after: [''], line: /^(?:cp|copy) (?:-\S+ )*(\S+) (\/\S*)$/, is: 'directory', use: 'mediactl upload {1} {2}' },
  {
    after: [''],
    line: /^(?:cp|copy) (?:-\S+ )*\S+ \/\S*$/,
    cannot: noCopy,
    use: 'mediactl upload PATH /FOLDER, for a file of this machine; mediactl mv ID /FOLDER, to move an asset',
  },
  {
    after: [''],
    line: /^(?:merge|join|concat) (\/\S+) (\/\S+)$/,
    cannot: 'no command joins folders or assets',
    use: 'mediactl mv --folder {1} {2}, for the assets of a folder; mediactl mv FOLDER {2}, for each folder in it',
  },
  { after: [''], line: /^mkdir (?:-p|--parents) (\S+)$/, use: 'mediactl folders create -p {1}' },
  { after: [''], line: /^s3(?:api)? (?:ls|list-\S+)|^releases? (?:list|ls|view)/, use: 'mediactl ls /FOLDER' },
  { after: [''], line: /^releases? download\b/, use: 'mediactl download ID -d DIR' },
  { after: [''], line: /^releases? delete\b|^uploader destroy\b/, use: 'mediactl rm ID, which moves it to the trash' },
  { after: [''], line: /^storage (?:upload|put|cp)\b/, use: 'mediactl upload FILE /FOLDER' },
  { after: [''], line: /^s3 mb\b/, use: 'mediactl folders create /FOLDER' },
  { after: [''], line: /^curl .*(?:-F|-T|--form|--upload-file)\b/, use: 'mediactl upload FILE /FOLDER' },
  { after: [''], line: /^s3 (?:rm|rb)\b/, use: 'mediactl rm ID, which moves it to the trash' },
  { after: [''], line: /^s3 presign\b/, use: 'mediactl share ID' },
  { after: [''], line: /^s3 (?:cp|mv|sync) s3:\S+ (?!s3:)/, use: 'mediactl download /FOLDER -d DIR' },
  { after: [''], line: /^s3 (?:cp|mv|sync) /, use: 'mediactl sync DIR /FOLDER; mediactl upload PATH /FOLDER' },
  { after: [''], line: /^cat\b.*\| *upload/, use: 'COMMAND | mediactl upload - --name NAME' },
];
