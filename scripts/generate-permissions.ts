import type { GeneratedFile } from './generated-file.ts';
import { code, pageStart, tableOf, titleOf } from './markdown.ts';
import type { Service } from './services.ts';

const intro = `The permissions that a call requires; of several, any one suffices. \`admin\` covers all of them.
The scopes of a token restrict the permissions of its principal: \`control-plane:read\` leaves the permissions that end in
\`.read\`, \`control-plane:write\` the others except \`admin\`, \`control-plane:admin\` all. Calls are named as in the API
description (\`/docs\`).`;

/**
 * Every permission with its meaning and its calls, and the calls that require no permission, with their credentials.
 */
export function writePermissions(services: readonly Service[]): GeneratedFile {
  const sections = services.map(
    (service) => `\n## ${titleOf(service.name)}\n${held(service)}${entries(service)}`,
  );
  return {
    path: 'docs/permissions.md',
    text: `${pageStart('permissions.ts and the endpoints', 'Permissions', intro)}${sections.join('')}`,
  };
}

function held({ endpoints, permissions }: Service): string {
  const rows = Object.entries(permissions).map(([name, meaning]) => [
    code(name),
    meaning,
    endpoints
      .filter(({ permission, alsoOneOf }) => permission.includes(name) || alsoOneOf.includes(name))
      .map(({ id }) => code(id))
      .join(', '),
  ]);
  return rows.length === 0 ? '' : `\n${tableOf(['Permission', 'For', 'Calls'], rows)}`;
}

function entries({ endpoints, credentials }: Service): string {
  const rows = endpoints
    .filter(({ permission }) => permission.length === 0)
    .map(({ id, auth, summary }) => [code(id), credentials[auth ?? 'usual'] ?? '', summary]);
  return `\n### Calls without a permission\n\n${tableOf(['Call', 'Credential', 'What it does'], rows)}`;
}
