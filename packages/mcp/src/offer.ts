import type { ServerOptions } from './server.ts';
import { type Toolset, toolsets } from './tool.ts';

/** The tools that a client requested in the query string of its URL: `?toolsets=work,tasks&read-only=true`. */
export type Offer = Pick<ServerOptions, 'toolsets' | 'isReadOnly'>;

export const usualToolsets = toolsets.filter((name) => name !== 'admin');

/**
 * @throws TypeError with a readable message if the query is invalid
 */
export function readOffer(url: string): Offer {
  const { searchParams } = new URL(url, 'http://localhost');
  const readOnly = searchParams.get('read-only') ?? 'false';
  if (!['true', 'false', ''].includes(readOnly)) throw new TypeError('read-only is true or false.');
  const text = searchParams.get('toolsets');
  return {
    toolsets: text === null ? usualToolsets : toolsetsIn(text),
    isReadOnly: readOnly !== 'false',
  };
}

/** The names of toolsets, separated by commas; `all` means all of them. @throws TypeError that lists the toolsets */
export function toolsetsIn(text: string): readonly Toolset[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.length === 1 && names[0] === 'all') return toolsets;
  const unknown = names.find((name) => !toolsets.includes(name as Toolset));
  if (unknown !== undefined)
    throw new TypeError(`There is no toolset "${unknown.slice(0, 50)}": use ${toolsets.join(', ')}, or all.`);
  return names as Toolset[];
}
