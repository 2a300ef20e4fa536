import { revealHidden } from '@baton/sdk';

/** A text as it was written. */
export function PlainText({ text }: { readonly text: string }) {
  return <div className="text">{revealHidden(text)}</div>;
}
