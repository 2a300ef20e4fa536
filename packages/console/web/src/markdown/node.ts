/** A part of a parsed text, from which the page creates elements. It contains no markup. */
export type MarkdownNode =
  | string
  | { readonly type: 'break' }
  | { readonly type: 'rule' }
  | { readonly type: 'code'; readonly text: string }
  | { readonly type: 'code_block'; readonly text: string; readonly info: string }
  | { readonly type: 'task'; readonly ref: string }
  | { readonly type: 'commit'; readonly name: string }
  | { readonly type: 'mention'; readonly id: string; readonly name: string }
  | MarkdownElement;

export type MarkdownElement = { readonly children: MarkdownNode[] } & (
  | { readonly type: PlainType }
  | { readonly type: 'heading'; readonly level: number }
  | { readonly type: 'ordered_list'; readonly start: number }
  /** `isDone` is undefined for an item that isn't one of a task list. */
  | { readonly type: 'item'; isDone: boolean | undefined }
  | { readonly type: 'cell'; readonly isHead: boolean; readonly align: Align }
  | { readonly type: 'link'; readonly url: URL; readonly title: string; readonly isImage: boolean }
);

export type PlainType =
  | 'root'
  | 'paragraph'
  /** A paragraph of a tight list, which has no element of its own. */
  | 'bare'
  /** The definition of a link that other parts of the text refer to. */
  | 'definition'
  | 'quote'
  | 'bullet_list'
  | 'table'
  | 'head'
  | 'body'
  | 'row'
  | 'strong'
  | 'emphasis'
  | 'deleted';

export type Align = 'left' | 'right' | 'center' | undefined;
