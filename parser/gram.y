/* gram.y - the grammar: Tensor Comprehensions and the additions of this language.
 *
 * Statements have no separators, so a statement ends before the first token that cannot continue it. Keywords that
 * Tensor Comprehensions does not have are names wherever a name may be (rule `name`), so all of its programs stay
 * valid. TWO_TO_63 is the integer that fits into 64 bits with a minus only. RESYNC is not a token of the language:
 * after an error the feeder delivers it where parsing can continue.
 */
%require "3.6"
%define api.pure full
%define api.prefix {grammar_}
%define api.location.type {Loc}
%define parse.error custom
%define parse.lac full
%locations
%expect 0
%parse-param {Parser *parser}
%lex-param {Parser *parser}
%initial-action { @$ = (Loc){parser->tokens->list.items[0].loc.file, 0, 0}; }

%code requires {
#include "parser/parser.h"
}

%union {
    Text made;
    AstName name;
    ElementType type;
    AstExpr *expr;
    AstExprs exprs;
    AstNames names;
    AstBinding binding;
    AstBindings bindings;
    AstParameter parameter;
    AstParameters parameters;
    AstResult result;
    AstResults results;
    AstTarget target;
    AstTargets targets;
    struct {
        Combine combine;
        bool initialise;
    } assignment;
    AstStatement *statement;
    AstStatements statements;
    AstWhere where;
    AstWheres wheres;
    AstDef *def;
    AstBindingLists binding_lists;
    PrimArg prim_arg;
    PrimArgs prim_args;
    Prims prims;
    const char *text;
}

%code {
#include <string.h>

/* The place of a rule without symbols is the empty place after the symbol before it. */
#define YYLLOC_DEFAULT(current, rhs, count)                                                                            \
    ((current) = (count) ? loc_join(YYRHSLOC(rhs, 1), YYRHSLOC(rhs, count))                                            \
                         : (Loc){YYRHSLOC(rhs, 0).file, YYRHSLOC(rhs, 0).end, YYRHSLOC(rhs, 0).end})

/* Room for AST_DEPTH_LIMIT levels of any construct; the stack is on the heap. */
#define YYMAXDEPTH 20000
#include <stdlib.h>

static int grammar_lex(GRAMMAR_STYPE *value, Loc *loc, Parser *parser);
static void grammar_error(const Loc *loc, Parser *parser, const char *message);

#define PUSH(list, item) list_push(parser->arena, &(list), item)
}

%token START_FILE START_SCHEDULE RESYNC INVALID
%token DEF WHERE IN EXISTS ELSE
%token <name> IDENT EXPORT IMPORT SCHEDULE RULE APPLIES COMBINER INSTR IMPLEMENTS CONST TUNE AS ON NEEDS ERROR_BOUND
%token <name> SCAN FOR INOUT IDENTITY
%token <name> COMBINER_NAME COMBINER_UPDATE INTEGER TWO_TO_63 REAL DOT_DIGITS STRING
%token <type> TYPE
%token ARROW EQUIVALENT
%token ADD_ASSIGN MUL_ASSIGN MIN_ASSIGN MAX_ASSIGN ADD_ASSIGN_NEW MUL_ASSIGN_NEW MIN_ASSIGN_NEW MAX_ASSIGN_NEW

%right '?' ':'
%left OR
%left AND
%left '<' '>' LESS_EQUAL GREATER_EQUAL EQUAL NOT_EQUAL
%left '+' '-'
%left '*' '/' '%'

%type <name> name feature export_symbol
%type <expr> expr unary primary implements_error
%type <exprs> exprs exprs_or_none dimensions combiner_value tuple values
%type <names> names words needs features
%type <binding> binding parameter
%type <bindings> bindings bindings_or_none parameters parameter_list brackets parentheses export_bindings
%type <parameter> argument
%type <parameters> arguments argument_list
%type <result> result
%type <results> results result_list
%type <target> target
%type <targets> targets
%type <assignment> assignment
%type <statement> statement assign annotated
%type <statements> statements
%type <where> where
%type <wheres> wheres where_list
%type <def> def_head implements
%type <binding_lists> tunes tune_list
%type <prim_arg> prim_arg prim_value prim_sum prim_product prim_operand prim_number prim_place prim_hole choice
%type <prim_args> prim_args prim_arg_list prim_items prim_places choices
%type <prims> prims
%type <name> place place_part
%type <text> target_name instr_text
%type <made> lines

%%

start: START_FILE items
    | START_SCHEDULE prims     { prims_finish(parser, $2);
                                 parser->schedule->count = $2.count, parser->schedule->prims = $2.items; }
    ;

items: %empty
    | items item               { parser->errors_before = diag_error_count(parser->diagnostics); }
    ;

item: def
    | export
    | import
    | schedule
    | rule
    | combiner
    | instr
    | error RESYNC              { yyerrok; }
    ;

/* --- names --- */

name: IDENT | EXPORT | IMPORT | SCHEDULE | COMBINER | INSTR | IMPLEMENTS | CONST | TUNE | AS | ON | NEEDS | ERROR_BOUND
    | SCAN | FOR | INOUT | IDENTITY | RULE | APPLIES
    ;

names: name                     { $$ = (AstNames){0}; PUSH($$, $1); }
    | names ',' name           { $$ = $1; PUSH($$, $3); }
    ;

/* --- definitions --- */

def: def_head '{' statements '}' {
        $1->statements = $3;
        ast_add_def(parser, $1, @$);
    }
    | DEF name error RESYNC {
        AstDef *def = ARENA_NEW(parser->arena, AstDef);
        def->name = $2;
        ast_add_def(parser, def, @$);
        yyerrok;
    }
    ;

def_head: DEF name parameters '(' arguments ')' ARROW '(' results ')' implements {
        $$ = $11;
        $$->name = $2;
        $$->parameters = $3;
        $$->arguments = $5;
        $$->results = $9;
    }
    ;

implements: wheres              { $$ = ARENA_NEW(parser->arena, AstDef); $$->wheres = $1; }
    | IMPLEMENTS name brackets wheres implements_error {
        $$ = ARENA_NEW(parser->arena, AstDef);
        $$->implements = $2;
        $$->implements_parameters = $3;
        $$->implements_wheres = $4;
        $$->implements_error = $5;
    }
    ;

implements_error: %empty        { $$ = NULL; }
    | ERROR_BOUND expr          { $$ = $2; }
    ;

parameters: %empty              { $$ = (AstBindings){0}; }
    | '[' parameter_list ']'    { $$ = $2; }
    ;

parameter_list: parameter       { $$ = (AstBindings){0}; PUSH($$, $1); }
    | parameter_list ',' parameter { $$ = $1; PUSH($$, $3); }
    ;

parameter: name                 { $$ = (AstBinding){.name = $1}; }
    | name '=' expr             { $$ = (AstBinding){.name = $1, .value = $3}; }
    | DEF name                  { $$ = (AstBinding){.name = $2, .is_def = true}; }
    | DEF name '=' name         { $$ = (AstBinding){.name = $2, .is_def = true, .value = ast_name(parser, $4)}; }
    ;

arguments: %empty               { $$ = (AstParameters){0}; }
    | argument_list
    ;

argument_list: argument         { $$ = (AstParameters){0}; PUSH($$, $1); }
    | argument_list ',' argument { $$ = $1; PUSH($$, $3); }
    ;

argument: TYPE name             { $$ = (AstParameter){.name = $2, .type = $1, .loc = @$}; }
    | CONST TYPE name           { $$ = (AstParameter){.name = $3, .type = $2, .constant = true, .loc = @$}; }
    | TYPE '(' dimensions ')' name {
        $$ = (AstParameter){.name = $5, .type = $1, .is_tensor = true, .dims = $3, .loc = @$};
    }
    | CONST TYPE '(' dimensions ')' name {
        $$ = (AstParameter){.name = $6, .type = $2, .constant = true, .is_tensor = true, .dims = $4, .loc = @$};
    }
    | name                      { $$ = ast_untyped_argument(parser, $1); }
    ;

results: %empty                 { $$ = (AstResults){0}; }
    | result_list
    ;

result_list: result             { $$ = (AstResults){0}; PUSH($$, $1); }
    | result_list ',' result    { $$ = $1; PUSH($$, $3); }
    ;

result: name                    { $$ = (AstResult){.name = $1, .loc = @$}; }
    | TYPE name                 { $$ = (AstResult){.name = $2, .has_type = true, .type = $1, .loc = @$}; }
    | TYPE '(' dimensions ')' name {
        $$ = (AstResult){.name = $5, .has_type = true, .type = $1, .has_dims = true, .dims = $3, .loc = @$};
    }
    | INOUT TYPE '(' dimensions ')' name {
        $$ = (AstResult){.name = $6, .inout = true, .has_type = true, .type = $2, .has_dims = true, .dims = $4,
                         .loc = @$};
    }
    ;

/* --- statements --- */

statements: %empty              { $$ = (AstStatements){0}; }
    | statements statement      { $$ = $1; PUSH($$, $2); }
    | statements ';'            { $$ = $1; ast_semicolon(parser, @2); }
    | statements error RESYNC   { $$ = $1; yyerrok; }
    ;

statement: annotated wheres     { $$ = $1; $$->wheres = $2; $$->loc = @$; parser->too_deep = false; }
    | SCAN name '{' statements '}' { $$ = ast_block(parser, STATEMENT_SCAN, $2, $4, @$); }
    | FOR name IN expr ':' expr '{' statements '}' {
        $$ = ast_block(parser, STATEMENT_FOR, $2, $8, @$);
        $$->begin = $4;
        $$->end = $6;
    }
    ;

annotated: assign
    | assign EQUIVALENT name '(' exprs_or_none ')' {
        $$ = $1;
        $$->annotation = ast_apply(parser, $3, (AstBindings){0}, $5, loc_join(@3, @6));
    }
    ;

assign: targets assignment expr {
        AstExprs values = {0};
        PUSH(values, $3);
        $$ = ast_assign(parser, $1, $2.combine, $2.initialise, values);
    }
    | COMBINER_NAME '=' expr {
        AstTargets targets = {0};
        PUSH(targets, ast_target($1, NULL, @1));
        AstExprs values = {0};
        PUSH(values, $3);
        $$ = ast_assign(parser, targets, COMBINE_NONE, false, values);
    }
    | targets COMBINER_NAME '=' '!' values {
        $$ = ast_assign(parser, $1, COMBINE_NONE, true, $5);
        $$->combiner = $2;
    }
    | targets COMBINER_UPDATE '=' values {
        $$ = ast_assign(parser, $1, COMBINE_NONE, false, $4);
        $$->combiner = $2;
    }
    ;

assignment: '='                 { $$.combine = COMBINE_NONE, $$.initialise = false; }
    | ADD_ASSIGN                { $$.combine = COMBINE_ADD, $$.initialise = false; }
    | MUL_ASSIGN                { $$.combine = COMBINE_MUL, $$.initialise = false; }
    | MIN_ASSIGN                { $$.combine = COMBINE_MIN, $$.initialise = false; }
    | MAX_ASSIGN                { $$.combine = COMBINE_MAX, $$.initialise = false; }
    | ADD_ASSIGN_NEW            { $$.combine = COMBINE_ADD, $$.initialise = true; }
    | MUL_ASSIGN_NEW            { $$.combine = COMBINE_MUL, $$.initialise = true; }
    | MIN_ASSIGN_NEW            { $$.combine = COMBINE_MIN, $$.initialise = true; }
    | MAX_ASSIGN_NEW            { $$.combine = COMBINE_MAX, $$.initialise = true; }
    ;

targets: target                 { $$ = (AstTargets){0}; PUSH($$, $1); }
    | targets ',' target        { $$ = $1; PUSH($$, $3); }
    ;

target: name                    { $$ = ast_target($1, NULL, @$); }
    | name '(' dimensions ')' { $$ = ast_target($1, &$3, @$); }
    ;

values: expr                    { $$ = (AstExprs){0}; PUSH($$, $1); }
    | tuple
    ;

tuple: '(' expr ',' exprs ')' {
        $$ = (AstExprs){0};
        PUSH($$, $2);
        for (int i = 0; i < $4.count; i++)
            PUSH($$, $4.items[i]);
    }
    ;

wheres: %empty                  { $$ = (AstWheres){0}; }
    | WHERE where_list          { $$ = $2; }
    ;

where_list: where               { $$ = (AstWheres){0}; PUSH($$, $1); }
    | where_list ',' where      { $$ = $1; ast_add_where(parser, &$$, $3); }
    ;

where: name IN expr ':' expr {
        ast_check_end(parser, $5);
        $$ = (AstWhere){.kind = WHERE_RANGE, .name = $1, .begin = $3, .end = $5, .loc = @$};
    }
    | name '=' expr             { $$ = (AstWhere){.kind = WHERE_LET, .name = $1, .value = $3, .loc = @$}; }
    | COMBINER_NAME '=' expr    { $$ = (AstWhere){.kind = WHERE_LET, .name = $1, .value = $3, .loc = @$}; }
    | EXISTS expr               { $$ = (AstWhere){.kind = WHERE_EXISTS, .value = $2, .loc = @$}; }
    | expr                      { $$ = (AstWhere){.kind = WHERE_PREDICATE, .value = $1, .loc = @$}; }
    ;

/* --- expressions --- */

exprs: expr                     { $$ = (AstExprs){0}; PUSH($$, $1); }
    | exprs ',' expr            { $$ = $1; PUSH($$, $3); }
    ;

exprs_or_none: %empty           { $$ = (AstExprs){0}; }
    | exprs
    ;

dimensions: exprs_or_none       { $$ = ast_dimensions(parser, $1); }
    ;

expr: unary
    | expr '?' expr ':' expr    { $$ = ast_select(parser, $1, $3, $5); }
    | expr OR expr              { $$ = ast_binary(parser, OP_OR, $1, $3); }
    | expr AND expr             { $$ = ast_binary(parser, OP_AND, $1, $3); }
    | expr '<' expr             { $$ = ast_binary(parser, OP_LT, $1, $3); }
    | expr '>' expr             { $$ = ast_binary(parser, OP_GT, $1, $3); }
    | expr LESS_EQUAL expr      { $$ = ast_binary(parser, OP_LE, $1, $3); }
    | expr GREATER_EQUAL expr   { $$ = ast_binary(parser, OP_GE, $1, $3); }
    | expr EQUAL expr           { $$ = ast_binary(parser, OP_EQ, $1, $3); }
    | expr NOT_EQUAL expr       { $$ = ast_binary(parser, OP_NE, $1, $3); }
    | expr '+' expr             { $$ = ast_binary(parser, OP_ADD, $1, $3); }
    | expr '-' expr             { $$ = ast_binary(parser, OP_SUB, $1, $3); }
    | expr '*' expr             { $$ = ast_binary(parser, OP_MUL, $1, $3); }
    | expr '/' expr             { $$ = ast_binary(parser, OP_DIV, $1, $3); }
    | expr '%' expr             { $$ = ast_binary(parser, OP_MOD, $1, $3); }
    ;

unary: primary
    | '-' unary                 { $$ = ast_unary(parser, OP_NEG, $2, @$); }
    | '-' TWO_TO_63             { $$ = ast_least_integer(parser, @$); }
    | '!' unary                 { $$ = ast_unary(parser, OP_NOT, $2, @$); }
    | primary ELSE unary        { $$ = ast_else(parser, $1, $3); }
    ;

primary: INTEGER                { $$ = ast_integer(parser, $1); }
    | REAL                      { $$ = ast_real(parser, $1); }
    | DOT_DIGITS                { $$ = ast_real(parser, $1); }
    | name                      { $$ = ast_name(parser, $1); }
    | name DOT_DIGITS           { $$ = ast_size(parser, $1, $2); }
    | name '(' exprs_or_none ')' { $$ = ast_apply(parser, $1, (AstBindings){0}, $3, @$); }
    | name '[' bindings ']' '(' exprs_or_none ')' { $$ = ast_apply(parser, $1, $3, $6, @$); }
    | TYPE '(' expr ')'         { $$ = ast_cast(parser, $1, $3, @$); }
    | '(' expr ')'              { $$ = $2; $$->loc = @$; }
    ;

binding: name '=' expr          { $$ = (AstBinding){.name = $1, .value = $3}; }
    | COMBINER_NAME '=' expr    { $$ = (AstBinding){.name = $1, .value = $3}; }
    | name '=' STRING           { $$ = (AstBinding){.name = $1, .text = $3.text}; }
    ;

bindings: binding               { $$ = (AstBindings){0}; PUSH($$, $1); }
    | bindings ',' binding      { $$ = $1; PUSH($$, $3); }
    ;

bindings_or_none: %empty        { $$ = (AstBindings){0}; }
    | bindings
    ;

brackets: %empty                { $$ = (AstBindings){0}; }
    | '[' bindings ']'          { $$ = $2; }
    ;

parentheses: %empty             { $$ = (AstBindings){0}; }
    | '(' bindings_or_none ')'  { $$ = $2; }
    ;

/* --- exports and imports --- */

export: EXPORT name export_bindings export_symbol tunes {
        AstExport export = {$2, $3, $4, $5, @$};
        list_push(parser->arena, &parser->file->exports, export);
    }
    ;

export_symbol: %empty           { $$ = (AstName){0}; }
    | AS name                   { $$ = $2; }
    ;

export_bindings: brackets parentheses {
        $$ = $1;
        for (int i = 0; i < $2.count; i++)
            PUSH($$, $2.items[i]);
    }
    ;

tunes: %empty                   { $$ = (AstBindingLists){0}; }
    | TUNE tune_list            { $$ = $2; }
    ;

tune_list: '(' bindings ')'     { $$ = (AstBindingLists){0}; PUSH($$, $2); }
    | tune_list ',' '(' bindings ')' { $$ = $1; PUSH($$, $4); }
    ;

import: IMPORT STRING {
        AstImport import = {$2.text, @$};
        list_push(parser->arena, &parser->file->imports, import);
    }
    ;

/* --- combiners and instructions --- */

combiner: COMBINER name '(' arguments ';' arguments ')' words IDENTITY '(' exprs ')' '{' combiner_value '}' {
        ast_add_combiner(parser, (AstCombiner){.name = $2, .left = $4, .right = $6, .properties = $8, .identity = $11,
                                               .values = $14, .loc = @$});
    }
    | COMBINER name '(' arguments ';' arguments ')' words IDENTITY '(' exprs ')' '{' error RESYNC '}' {
        ast_add_combiner(parser, (AstCombiner){.name = $2, .loc = @$});
        yyerrok;
    }
    | COMBINER name error RESYNC {
        ast_add_combiner(parser, (AstCombiner){.name = $2, .loc = @$});
        yyerrok;
    }
    ;

words: %empty                   { $$ = (AstNames){0}; }
    | words IDENT               { $$ = $1; PUSH($$, $2); }
    ;

combiner_value: expr            { $$ = (AstExprs){0}; PUSH($$, $1); }
    | tuple
    | expr '?' tuple ':' combiner_value { $$ = ast_select_tuple(parser, $1, $3, $5, @$); }
    ;

instr: INSTR name '(' arguments ')' ON target_name needs '{' statements '}' instr_text {
        AstInstr instr = {$2, $4, $7, $8, $10, $12, @$};
        list_push(parser->arena, &parser->file->instrs, instr);
    }
    ;

/* Outside the rule of the block, so that an error here is not caught inside the block. */
instr_text: '=' lines           { $$ = $2.text; }
    | error RESYNC              { $$ = ""; yyerrok; }
    ;

/* LLVM IR of several lines is one STRING for each line. */
lines: STRING                   { $$ = (Text){.arena = parser->arena}, text_add(&$$, "%s", $1.text); }
    | lines STRING              { $$ = $1, text_add(&$$, "\n%s", $2.text); }
    ;

needs: %empty                   { $$ = (AstNames){0}; }
    | NEEDS features            { $$ = $2; }
    ;

features: feature               { $$ = (AstNames){0}; PUSH($$, $1); }
    | features ',' feature      { $$ = $1; PUSH($$, $3); }
    ;

/* A feature of a processor: "avx512vnni", "sse4.1". */
feature: target_name             { $$ = (AstName){$1, @$}; }
    ;

/* --- schedules --- */

schedule: SCHEDULE name ON target_name '{' prims '}' {
        Schedule *schedule = ARENA_NEW(parser->arena, Schedule);
        *schedule = (Schedule){.subject = $2.text, .target = $4, .count = $6.count, .prims = $6.items, .loc = @$};
        prims_finish(parser, $6);
        if (diag_error_count(parser->diagnostics) == parser->errors_before)
            list_push(parser->arena, &parser->file->schedules, schedule);
    }
    ;

/* The statements' names are formal: only the braces tell where the conditions end. */
rule: RULE name ON target_name APPLIES prim_arg_list '{' prims '}' {
        Rule *rule = ARENA_NEW(parser->arena, Rule);
        *rule = (Rule){.name = $2.text, .condition_count = $6.count, .conditions = $6.items};
        rule->schedule = (Schedule){.subject = $2.text, .target = $4, .count = $8.count, .prims = $8.items, .loc = @$};
        rule_finish(parser, rule);
        prims_finish(parser, $8);
        if (diag_error_count(parser->diagnostics) == parser->errors_before)
            list_push(parser->arena, &parser->file->rules, rule);
    }
    ;

target_name: target_words       { $$ = ast_target_name(parser, @$); }
    | STRING                    { $$ = $1.text; }
    ;

target_words: name
    | target_words '-' name
    | target_words '-' INTEGER
    | target_words ':' name
    | target_words ':' INTEGER
    | target_words DOT_DIGITS
    ;

prims: %empty                   { $$ = (Prims){0}; }
    | prims name '(' prim_args ')' {
        $$ = $1;
        prims_add(parser, &$$, (AstNames){0}, $2, $4, loc_join(@2, @5));
    }
    | prims names '=' name '(' prim_args ')' {
        $$ = $1;
        prims_add(parser, &$$, $2, $4, $6, loc_join(@2, @7));
    }
    | prims ';'                 { $$ = $1; ast_semicolon(parser, @2); }
    | prims error RESYNC        { $$ = $1; yyerrok; }
    ;

prim_args: %empty               { $$ = (PrimArgs){0}; }
    | prim_arg_list
    ;

prim_arg_list: prim_arg         { $$ = (PrimArgs){0}; PUSH($$, $1); }
    | prim_arg_list ',' prim_arg { $$ = $1; PUSH($$, $3); }
    ;

prim_arg: prim_value
    | name '=' prim_value       { $$ = $3; $$.key = $1.text; $$.loc = @$; }
    ;

prim_value: prim_sum
    | prim_sum '<' prim_sum     { $$ = prim_operation(parser, '<', $1, $3); }
    | prim_sum '>' prim_sum     { $$ = prim_operation(parser, '>', $1, $3); }
    | prim_sum LESS_EQUAL prim_sum { $$ = prim_operation(parser, 'l', $1, $3); }
    | prim_sum GREATER_EQUAL prim_sum { $$ = prim_operation(parser, 'g', $1, $3); }
    | prim_sum EQUAL prim_sum   { $$ = prim_operation(parser, '=', $1, $3); }
    | prim_sum NOT_EQUAL prim_sum { $$ = prim_operation(parser, '!', $1, $3); }
    ;

prim_items: prim_sum            { $$ = (PrimArgs){0}; PUSH($$, $1); }
    | prim_items ',' prim_sum   { $$ = $1; PUSH($$, $3); }
    ;

prim_sum: prim_product
    | prim_sum '+' prim_product { $$ = prim_operation(parser, '+', $1, $3); }
    | prim_sum '-' prim_product { $$ = prim_operation(parser, '-', $1, $3); }
    ;

prim_product: prim_operand
    | prim_product '*' prim_operand { $$ = prim_operation(parser, '*', $1, $3); }
    | prim_product '/' prim_operand { $$ = prim_operation(parser, '/', $1, $3); }
    | prim_product '%' prim_operand { $$ = prim_operation(parser, '%', $1, $3); }
    ;

prim_operand: prim_place
    | prim_number
    | '(' prim_items ')'        { $$ = prim_list(ARG_LIST, $2, @$); }
    ;

prim_number: INTEGER            { $$ = prim_integer(parser, $1); }
    | '-' INTEGER               { $$ = prim_integer(parser, $2), $$.value = -$$.value, $$.loc = @$; }
    | prim_hole
    | prim_hole IN '{' choices '}' { $$ = prim_list(ARG_HOLE, $4, @$), $$.name = $1.name; }
    ;

/* One name in several places is one choice. */
prim_hole: '?'                  { $$ = prim_hole(@$); }
    | '?' name                  { $$ = prim_hole(@$), $$.name = $2.text; }
    ;

choices: choice                 { $$ = (PrimArgs){0}; PUSH($$, $1); }
    | choices ',' choice        { $$ = $1; PUSH($$, $3); }
    ;

/* A number; a loop or a place; an order of loops. */
choice: INTEGER                 { $$ = prim_integer(parser, $1); }
    | prim_place
    | '(' prim_places ')'       { $$ = prim_list(ARG_LIST, $2, @$); }
    ;

prim_places: prim_place         { $$ = (PrimArgs){0}; PUSH($$, $1); }
    | prim_places ',' prim_place { $$ = $1; PUSH($$, $3); }
    ;

prim_place: place               { $$ = prim_name($1); }
    ;

place: place_part
    | place '.' place_part      { $$ = (AstName){arena_printf(parser->arena, "%s.%s", $1.text, $3.text), @$}; }
    ;

place_part: name
    | name '[' INTEGER ']'      { $$ = (AstName){arena_printf(parser->arena, "%s[%s]", $1.text, $3.text), @$}; }
    ;

%%

static int grammar_lex(GRAMMAR_STYPE *value, Loc *loc, Parser *parser) {
    Token token = feed_token(parser);
    *loc = token.loc;
    if (token.kind == TYPE)
        value->type = token.type;
    else
        value->name = (AstName){token.text, token.loc};
    return token.kind;
}

/* Passes Bison's expected symbols on as a set of token kinds, the form that the other files use. */
static int yyreport_syntax_error(const yypcontext_t *context, Parser *parser) {
    yysymbol_kind_t symbols[YYNTOKENS];
    _Static_assert(YYMAXUTOK < TOKEN_KINDS, "room for every token kind");
    bool expected[TOKEN_KINDS] = {false};
    bool hidden = diag_limit_reached(parser->diagnostics); /* then it is only counted */
    int count = hidden ? 0 : yypcontext_expected_tokens(context, symbols, YYNTOKENS);
    for (int kind = 0; kind <= YYMAXUTOK && !hidden; kind++)
        for (int i = 0; i < count; i++)
            if (YYTRANSLATE(kind) == symbols[i])
                expected[kind] = true;
    report_syntax_error(parser, parser->current, expected);
    parser->resynchronise = true;
    return 0;
}

/* Called only if the stack overflows: syntax errors are reported above. */
static void grammar_error(const Loc *loc, Parser *parser, const char *message) {
    diag(parser->diagnostics, DIAG_too_deep, *loc, AST_DEPTH_LIMIT);
}
