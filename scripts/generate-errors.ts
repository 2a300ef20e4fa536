import type { GeneratedFile } from './generated-file.ts';
import { code, pageStart, tableOf, titleOf } from './markdown.ts';
import type { Service } from './services.ts';

const intro = `Every refusal of Baton has a code. Programs react to the code; the text beside it is for people and may change.
Which codes a call can answer stands in the API description: \`/docs\`, or \`x-errors\` in \`/openapi.json\`.`;

/** Every error code with its status, when it comes and what to do about it, by status. */
export function writeErrors(services: readonly Service[]): GeneratedFile {
  const sections = services.map(({ name, errors }) => {
    const rows = Object.entries(errors)
      .toSorted(([left, { status }], [right, { status: other }]) => status - other || (left < right ? -1 : 1))
      .map(([error, { status, otherStatus, when, react }]) => [
        code(error),
        otherStatus === undefined ? `${status}` : `${status} or ${otherStatus}`,
        when,
        react ?? '',
      ]);
    return `\n## ${titleOf(name)}\n\n${tableOf(['Code', 'Status', 'When', 'What to do'], rows)}`;
  });
  return {
    path: 'docs/errors.md',
    text: `${pageStart('the errors.ts files', 'Errors', intro)}${sections.join('')}`,
  };
}
