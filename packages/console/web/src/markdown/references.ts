import { revealHidden } from '@baton/sdk';
import { endOfAddress, linkTarget } from './links.ts';
import type { MarkdownNode } from './node.ts';

/** Addresses, public ids of tasks, and commit hashes: 7 to 40 hexadecimal characters, both digits and letters. */
const forms =
  /\bhttps?:\/\/[^\s<>"`]{1,2048}|\bTASK-\d{6,15}\b|(?<![\w./#-])(?=[\da-f]{0,39}\d)(?=[\da-f]{0,39}[a-f])[\da-f]{7,40}(?![\w-]|\.\w)/gu;

/**
 * Splits running text at references without markup. Addresses and task ids become links, and commit hashes become code.
 * Invisible characters are replaced by their codes afterwards, so an address that contains one doesn't become a link.
 */
export function referencesIn(text: string): MarkdownNode[] {
  const nodes: MarkdownNode[] = [];
  let from = 0;
  for (const { 0: found, index } of text.matchAll(forms)) {
    const [node, length] = referenceOf(found);
    if (node === undefined) continue;
    if (index > from) nodes.push(revealHidden(text.slice(from, index)));
    nodes.push(node);
    from = index + length;
  }
  if (from < text.length) nodes.push(revealHidden(text.slice(from)));
  return nodes;
}

function referenceOf(found: string): [node: MarkdownNode | undefined, length: number] {
  if (found.startsWith('TASK-')) return [{ type: 'task', ref: found }, found.length];
  if (!found.startsWith('http')) return [{ type: 'commit', name: found }, found.length];
  const length = endOfAddress(found);
  const address = found.slice(0, length);
  const url = linkTarget(address);
  return [url && { type: 'link', url, title: '', isImage: false, children: [address] }, length];
}
