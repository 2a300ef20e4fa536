import type { ErrorExample, ErrorRow } from '@baton/kernel/http/refusal';
import type { GeneratedFile } from './generated-file.ts';
import { code, pageStart, tableOf, titleOf } from './markdown.ts';
import type { Service } from './services.ts';

const intro = `Every error of Baton has a code. Programs react to the code; the text beside it is for people and may change.
The API description (\`/docs\`, or \`x-errors\` in \`/openapi.json\`) lists the codes of each operation.

Paths in the examples omit \`/api/v1\`. Operators can let each error link to its section here: [\`CP_DOCS_BASE_URL\` and
\`IAM_DOCS_BASE_URL\`](configuration.md) are the address of this page.`;

/** A code as one service uses it. */
interface Use {
  readonly service: string;
  readonly code: string;
  readonly row: ErrorRow;
}

/** Writes the page of all error codes: a table of contents by status, then a section for each code. */
export function writeErrors(services: readonly Service[]): GeneratedFile {
  const uses = services.flatMap(({ name, errors }) =>
    Object.entries(errors).map(([error, row]): Use => ({ service: titleOf(name), code: error, row })),
  );
  const byCode = [...Map.groupBy(uses, (use) => use.code)].sort(([left], [right]) => (left < right ? -1 : 1));
  const parts = [
    pageStart('the errors.ts files', 'Errors', intro),
    `## Codes by status\n\n${contentsOf(uses)}`,
    '## Codes\n',
    ...byCode.map(([error, ofCode]) => `### ${error}\n\n${ofCode.map(describe).join('\n')}`),
  ];
  return { path: 'docs/errors.md', text: parts.join('\n') };
}

function contentsOf(uses: readonly Use[]): string {
  const statuses = uses.flatMap(({ row, code: error }) =>
    statusesOf(row).map((status) => ({ status, link: `[${code(error)}](#${error})` })),
  );
  const rows = [...Map.groupBy(statuses, ({ status }) => status)]
    .sort(([left], [right]) => left - right)
    .map(([status, links]) => [`${status}`, [...new Set(links.map(({ link }) => link))].sort().join(', ')]);
  return tableOf(['Status', 'Codes'], rows);
}

function describe({ service, row }: Use): string {
  const { when, react, example } = row;
  const lines = [
    `${service}, ${statusesOf(row).join(' or ')}: ${linked(when)}`,
    `**What to do:** ${linked(react)}`,
  ];
  return `${[...lines, ...(example === undefined ? [] : examplesOf(example))].join('\n\n')}\n`;
}

function examplesOf({ refused, right }: ErrorExample): string[] {
  return [`Refused:\n\n\`\`\`http\n${refused}\n\`\`\``, `Right:\n\n\`\`\`http\n${right}\n\`\`\``];
}

const statusesOf = ({ status, otherStatus }: ErrorRow): number[] =>
  otherStatus === undefined ? [status] : [status, otherStatus];

/** Links the pages that a text names by their path from the root. */
function linked(text: string): string {
  return text.replaceAll(/\bdocs\/([\w./-]+\.md(?:#[\w-]+)?)/g, '[$1]($1)');
}
