import type { Artifact } from '@baton/sdk';

/** How an artifact's content is shown; `none` for content that can only be downloaded. */
export type ArtifactKind = 'image' | 'markdown' | 'diff' | 'log' | 'json' | 'table' | 'text' | 'none';

/** Raster images, which contain no scripts and no links. An SVG is shown as its source. */
const images = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif']);
const byMediaType: readonly [RegExp, ArtifactKind][] = [
  [/^text\/(x-)?markdown$/, 'markdown'],
  [/^(text|application)\/(x-)?(diff|patch)$/, 'diff'],
  [/^(text|application)\/(x-)?log$/, 'log'],
  [/^(application\/(.+\+)?|text\/)json$/, 'json'],
  [/^text\/(csv|tab-separated-values)$/, 'table'],
];
const byName: readonly [RegExp, ArtifactKind][] = [
  [/\.(md|markdown)$/i, 'markdown'],
  [/\.(diff|patch)$/i, 'diff'],
  [/\.(log|ansi)$/i, 'log'],
  [/\.json$/i, 'json'],
  [/\.(csv|tsv)$/i, 'table'],
];
const texts =
  /^(text\/.+|application\/(.+\+)?(xml|yaml|x-yaml|toml|javascript|x-sh|x-ndjson|sql)|image\/svg\+xml)$/;

/** Derived from the media type and, for plain text, from the name. The agent states the type, so it is not trusted. */
export function kindOf({ mediaType, name }: Pick<Artifact, 'mediaType' | 'name'>): ArtifactKind {
  const [essence = ''] = (mediaType ?? '').slice(0, 255).split(';', 1);
  const type = essence.trim().toLowerCase();
  if (images.has(type)) return 'image';
  const known = byMediaType.find(([pattern]) => pattern.test(type))?.[1];
  if (known !== undefined) return known;
  if (!texts.test(type)) return 'none';
  return (type === 'text/plain' && byName.find(([pattern]) => pattern.test(name))?.[1]) || 'text';
}
