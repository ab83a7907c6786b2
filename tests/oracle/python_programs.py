"""Programs without models, for test_python_semantics.py: expressions a line each, bodies of functions between lines of '---'."""

EXPRESSIONS = r'''
-7 // 2
-7 % 2
7 // -2
7 % -2
-7.5 // 2
-7.5 % 2
7.5 % -2
divmod(-7, 2)
divmod(7.5, -2)
0.0 % -1
-0.0 % 1
5 % -5
-1e-20 % 3
1e+308 * 10
-1e+308 * 10
float('inf') - 1
2 ** (-1)
2 ** 0.5
0 ** 0
0.0 ** 0
(-2) ** 3
(-2) ** (-3)
-2 ** 2
2 ** 3 ** 2
2 ** 62
1 << 10
-5 >> 1
-1 >> 100
5 & -2
5 | -8
5 ^ -3
~5
~True
True + True
True * 3
-True
+True
True / 2
True // 1
True << 2
True & False
True | 1
True ^ True
round(0.5)
round(1.5)
round(2.5)
round(-0.5)
round(-1.5)
round(2.675, 2)
round(1234, -2)
round(1250, -2)
round(1350, -2)
round(-1250, -2)
round(2.5, 0)
round(0.15, 1)
round(1.005, 2)
round(5, 2)
round(True)
round(15, -1)
round(25, -1)
round(35, -1)
round(-15, -1)
round(5, -1)
round(6, -1)
round(4, -5)
round(1234.5678, 2)
round(1234.5678, -2)
round(-0.4)
round(1e+16 + 1.0)
round(0.1 + 0.2, 17)
int(3.9)
int(-3.9)
int('42')
int(' -17 ')
int('ff', 16)
int(True)
int('z', 36)
float('1e-3')
float('inf')
float('nan')
float(True)
float(3)
str(1.0)
str(1e+16)
str(1000000000000000.0)
str(1.2345678901234568e+17)
str(1e-05)
str(0.0001)
str(1.5e-07)
str(-0.0)
str(1e+22)
str(1e+21)
str(5e-324)
str(1.7976931348623157e+308)
str(100.0)
str(True)
str(None)
repr("a'b")
repr('a"b')
repr('a\'b"c')
'%d' % 3.9
'%d' % -3.9
'%5d|%-5d|%05d|%+d' % (1, 2, 3, 4)
'%s %r' % ('a', 'a')
'%x %X %o' % (255, 255, 8)
'%e' % 12345.678
'%g' % 1e-05
'%g' % 1000000.0
'%g' % 123456789
'%.3g' % 1234.5
'%%'
'%(a)s-%(b)03d' % {'a': 1, 'b': 2}
'%10.3f|' % 3.14159
'%-10.3f|' % 3.14159
'%+.1e' % 0.00012345
'%i' % 7
'%5s|%-5s|' % ('a', 'b')
'%.2s' % 'abc'
'% d' % 5
'{:d} {:5d} {:<5d}| {:^5d}| {:>5d} {:05d} {:+d} {: d} {:,} {:_}'.format(1, 2, 3, 4, 5, 6, 7, 8, 1234567, 1234567)
'{!r} {!s} {:>5} {:*^7} {:<3}|'.format('a', 'b', 'c', 'd', 'e')
'{{}}'.format()
'{:.3}'.format('abcdef')
f"{1 + 1} {2.5} {'x':>3} {3.14159:.2f} {10000000000.0} {10:3d} {True} {None} {[1, 'a']} {(1,)} { {1: 2}}"
f'{3:05.1f} {-3:+06d} {255:#06x} {1234.5:,.2f} {0.1:.20f} {1e-07:g}'
f'1={1!r}'
f'1 + 2 = {1 + 2!r}'
f""""x"={'x'!r}"""
f'3.14159={3.14159:.2f}'
f"{2:{3}d}|{2:{'<'}{4}}|{3.14159:.{1 + 1}f}"
'abc'[::-1]
'abcdef'[1:5:2]
'abcdef'[5:1:-2]
'abcdef'[-3:]
'abc'[10:]
'abc'[-10:2]
'abc'[:-10]
'abcdef'[:-1:3]
'abcdef'[-1::-2]
'Hello'.upper()
'Hello'.lower()
'hello world'.title()
'hello World'.capitalize()
'aBc'.swapcase()
'hi'.center(7, '*')
'hi'.center(6)
'hi'.center(5)
'hi'.ljust(5) + '|'
'hi'.rjust(5)
'42'.zfill(5)
'-42'.zfill(5)
'a,b,,c'.split(',')
' a  b '.split()
'a b c'.split(' ', 1)
'a b c'.rsplit(' ', 1)
'a\nb\r\nc'.splitlines()
'abc'.partition('b')
'abcbd'.rpartition('b')
'abc'.partition('x')
'abc'.rpartition('x')
''.split()
''.split(',')
'abcabc'.find('c')
'abcabc'.rfind('c')
'abc'.find('x')
'abcabc'.index('b')
'aaa'.count('a')
'aaaa'.count('aa')
'abc'.count('')
'abc'.replace('b', 'x')
'aaa'.replace('a', 'b', 2)
'abc'.find('c', 1)
'abc'.find('a', 1)
'abcabc'.find('c', 3, 5)
'  abc '.strip()
'xxabcxx'.strip('x')
'xyabcyx'.lstrip('xy')
'abc'.rstrip('cb')
'abc'.startswith('ab')
'abc'.startswith(('x', 'a'))
'abc'.endswith('bc')
'abc'.startswith('b', 1)
'prefix_a'.removeprefix('prefix_')
'a.py'.removesuffix('.py')
'abc'.isalpha()
'123'.isdigit()
'a1'.isalnum()
' '.isspace()
'abc'.islower()
'ABC'.isupper()
''.isalpha()
'1.5'.isnumeric()
'12'.isdecimal()
','.join(['a', 'b'])
''.join((str(i) for i in range(3)))
'-'.join('abc')
'abc' * 2
3 * 'ab'
'ab' * 0
'ab' * -1
'a' < 'b'
'a' < 'B'
'abc' < 'abd'
'ab' < 'abc'
'' < 'a'
'Z' < 'a'
'é' > 'z'
'10' < '9'
'b' in 'abc'
'' in 'abc'
'ac' in 'abc'
'x' not in 'abc'
ord('a')
chr(97)
ord('é')
'a{}b'.format(3)
'x'.join([])
[1, 2, 3] + [4]
[1] * 3
[1, 2] * 0
[[0] * 2] * 2
[1, 2, 3][::-1]
[1, 2, 3, 4, 5][1:4:2]
[1, 2, 3, 4][-2:]
[1, 2, 3, 4][3:0:-1]
[1, 2][5:]
[1, 2, 3][-1:-3:-1]
[1, 2] < [1, 3]
[1, 2] < [1, 2, 0]
[1] == [1.0]
(1, 2) < (1, 2, 3)
[] < [0]
[1, 'a'] == [1, 'a']
(1,) == [1]
[2] > [1, 5]
sorted([3, 1, 2], reverse=True)
sorted('bca')
sorted([('a', 2), ('b', 1)], key=lambda t: t[1])
sorted([1, 2, 3, 4], key=lambda v: v % 2)
sorted([1, 2, 3, 4], key=lambda v: v % 2, reverse=True)
sorted({'b': 1, 'a': 2})
sorted([1.5, 1, True, 0])
max(1, 2.0, 2)
max([1, 1.0])
min([1.0, 1])
min(True, 1)
max('a', 'b')
max([(1, 'a'), (1, 'b')])
min([3, 1, 2], key=lambda v: -v)
max([], default=5)
max('abc', key=ord)
max([1, 3, 2], key=lambda v: 0)
sum([1, 2.5])
sum([[1], [2]], [])
sum([0.1] * 10)
sum(range(5), 10)
sum([True, True])
sum([])
any([])
all([])
any([0, '', None])
all([1, 'a', [0]])
any((v > 2 for v in [1, 2, 3]))
list(zip([1, 2, 3], 'ab'))
list(enumerate('ab', 5))
list(map(lambda a, b: a + b, [1, 2], [3, 4, 5]))
list(filter(None, [0, 1, '', 'a']))
list(filter(lambda v: v > 1, [1, 2, 3]))
list(reversed([1, 2]))
dict(zip('ab', [1, 2]))
list(range(5))
list(range(5, 0, -2))
list(range(0))
len(range(0, 10, 3))
range(10)[2:5]
range(10)[::-1]
5 in range(0, 10, 2)
range(5) == range(0, 5, 1)
list(range(-3, 3))
range(10)[-1]
repr(range(1, 5))
{1: 'a', 1.0: 'b', True: 'c'}
{0: 1, False: 2}
{'a': 1, **{'b': 2, 'a': 3}}
{1, 1.0, True}
{**{}, 'z': 1}
{'a': 1}.get('b')
{'a': 1}.get('b', 3)
{'a': 1}.pop('a')
{'a': 1}.pop('b', 7)
{'a': 1}.setdefault('a', 5)
list({'a': 1, 'b': 2}.items())
list({'a': 1}.keys())
list({'a': 1}.values())
dict(a=1, b=2)
dict([('x', 1)])
dict({'a': 1}, b=2)
{'a': 1} | {'b': 2}
{'a': 1} == {'a': 1.0}
{'a': 1, 'b': 2} == {'b': 2, 'a': 1}
{1, 2} & {2, 3}
{1, 2} - {2}
{1, 2} == {2, 1}
1 in {1}
frozenset([1]) == {1}
{1, 2}.issubset({1, 2, 3})
{1}.isdisjoint({2})
len({1, 1, 2})
set()
sorted({3, 1, 2})
1 < 2 < 3
1 < 3 > 2
1 == 1.0 == True
3 > 2 > 2
1 < 2 == True
not 1 == 2
(1 < 2) == True
1 in [1] == True
0 or 'a'
'a' and 'b'
'' or 0 or []
1 and 0
None or False
[] and 1
not ''
not not 'a'
1 if '' else 2
0 or None
1 == 1.0
1 == True
'1' == 1
None == 0
[] == ()
0.1 + 0.2 == 0.3
float('nan') == float('nan')
1 != 1.0
isinstance(True, int)
isinstance(1, float)
isinstance(1, (int, float))
isinstance('a', str)
isinstance([], list)
issubclass(bool, int)
isinstance(None, type(None))
type(1) == int
type(True) == bool
isinstance(1, object)
isinstance({}, dict)
isinstance((), (list, tuple))
math.floor(-1.5)
math.ceil(-1.5)
math.trunc(-1.5)
math.sqrt(16)
math.log(8, 2)
math.log2(8)
math.log10(1000)
math.exp(1)
math.pow(2, 3)
math.fabs(-2)
math.factorial(5)
math.gcd(12, 18)
math.pi
math.e
math.inf
math.isclose(1, 1 + 1e-10)
math.prod([1, 2, 3])
math.comb(5, 2)
math.isqrt(17)
math.lcm(4, 6)
math.copysign(1, -0.0)
math.fmod(-7, 3)
math.degrees(math.pi)
math.radians(180)
math.sin(1)
math.atan2(1, -1)
math.isnan(math.nan)
math.isinf(math.inf)
math.log1p(0.5)
math.expm1(0.5)
math.erf(0.5)
math.tanh(0.5)
math.cbrt(27) if hasattr(math, 'cbrt') else 0
math.perm(5, 2)
math.tau
math.log(2)
math.ceil(3)
math.floor(True)
math.log(100, 10)
math.log(1000, 10)
math.log(64, 4)
operator.add(1, 2)
operator.mul(2, 3)
operator.itemgetter(1)([1, 2])
operator.itemgetter(0, 2)('abc')
operator.floordiv(7, 2)
operator.neg(1)
operator.truediv(1, 2)
operator.mod(-7, 3)
operator.concat([1], [2])
operator.pow(2, 3)
operator.sub(1, 2)
operator.getitem([1, 2], 0)
abs(-3)
abs(-2.5)
abs(True)
pow(2, 3)
pow(2, -1)
divmod(7, 3)
abs(-0.0)
1 .bit_length()
255 .bit_length()
0 .bit_length()
5 .real
reduce(lambda a, b: a * b, [1, 2, 3, 4])
reduce(lambda a, b: a + b, [], 5)
reduce(operator.add, [[1], [2]], [])
list(chain([1], [2, 3]))
list(chain.from_iterable([[1], [2]]))
list(product([1, 2], 'ab'))
list(accumulate([1, 2, 3]))
list(repeat(1, 3))
list(product('ab', repeat=2))
list(accumulate([1, 2, 3], operator.mul))
list(islice(range(10), 2, 8, 3))
list(accumulate([1, 2], initial=5))
namedtuple('P', 'x y')(1, 2)
[x * y for x in range(3) for y in range(x)]
[x for x in range(10) if x % 2 if x % 3]
{x: x ** 2 for x in range(3)}
{x % 3 for x in range(10)} == {0, 1, 2}
[[j for j in range(i)] for i in range(3)]
[(a, b) for a, b in zip([1, 2], [3, 4])]
[y for x in [[1, 2], [3]] for y in x]
list((x for x in 'abc'))
[x if x else -1 for x in [0, 1]]
(lambda *a, **k: (a, k))(1, *[2, 3], x=4, **{'y': 5})
(lambda a, b=2, *c, d=4, **e: (a, b, c, d, e))(1, 3, 5, d=6, f=7)
(lambda a, /, b, *, c: (a, b, c))(1, 2, c=3)
[*range(3), *'ab']
(*[1], 2)
[*{}]
{'a': 1, **dict(b=2)}
(y := 5) + y
[(z := 3), z ** 2]
1000000
255
10
15
1000.0
0.5
5.0
0.01
10.01
len('héllo')
len('a\nb')
sorted(['b', 'A', 'a', 'B'])
sorted([[2, 1], [1, 2], [1]])
sorted([(1, 'b'), (1, 'a')])
sorted([3, -1, 2], key=abs)
sorted('hello', reverse=True)
bool('False')
bool(0.0)
bool([0])
bool(None)
bool(-1)
bool(' ')
bool({})
bool(range(0))
bool(())
bool(float('nan'))
tuple([1, 2])
list((1, 2))
list('ab')
tuple('ab')
set('a')
list({'a': 1})
tuple(range(3))
list(map(str, [1, 2]))
tuple()
(1,)
((1,),)
[1, 2, 3, 4, 5][slice(1, 4)]
list(range(10))[slice(None, None, -3)]
str([1.0, 'a', None, True, (1,), {'k': [1]}, {1}])
str({})
str(())
str(set())
repr([])
str(frozenset())
str(range(3))
str(int)
str(1.5e+300)
repr({'a': {'b': 1}})
str([float('nan'), float('inf'), -float('inf')])
callable(len)
callable(1)
callable(lambda: 1)
callable(int)
1 / 3
2 / 3
10 / 4
1e-07 * 3
0.1 + 0.2
100 * 1.1
1e+23
1.1 + 2.2
3 * 0.1
5 / 9
1e+16 + 1
123456789.0
1 / 7
22 / 7
1e-10 / 3
9007199254740993 / 3
7 / 2 * 2.0
2 ** 53 / 3
9007199254740993 == 9007199254740992.0
9007199254740993 > 9007199254740992.0
2 ** 53 + 1 == float(2 ** 53 + 1)
(2 ** 53 + 1) * 1.0
9007199254740993 % 2.0
int(1e+18)
int(123456789.999)
int(-0.5)
int(9007199254740992.0)
int('-0')
10 ** 18
10 ** 18 // 7
-10 ** 18 % 7
3 ** 39
7 ** 22
3 .real
3 .numerator
'a'.__len__()
[1, 2].__len__()
int.__name__
str.__name__
float.__name__
'%s' % (1,)
'%s' % [1, 2]
'%s %s' % ('a', None)
'%.3f' % 2
'%5.1f%%' % 99.55
'%r' % 'a'
'%s' % 1.0
'%s' % True
'%d' % True
'%s' % 1e+20
'%.0f' % 0.5
'%.0f' % 1.5
'%.0f' % 2.5
'%#x' % 255
'%08.3f' % -3.14159
'%.10g' % 0.1
'%G' % 1e-10
'%E' % 1.0
'{:.0f} {:.0f} {:.1f} {:.2f}'.format(0.5, 1.5, 0.25, 1.005)
'{:5}|{:5}|'.format(1, 'a')
'{:<5}|{:^5}|'.format(1.5, True)
'{}'.format(1e+16)
'{:.3}'.format(3.14159)
'{:.3}'.format(1234567.0)
'{:10.4}|'.format(3.14159)
'{:g}'.format(100000.0)
'{:g}'.format(1000000.0)
'{:e}'.format(0.0)
'{:+.2f}'.format(1)
'{:d}'.format(True)
'{:s}'.format('a')
'{:,.3f}'.format(1234567.891)
'{:=+6}'.format(5)
'{:<06}'.format(5)
'{:06}'.format(-1.5)
'{:x>6}'.format(1)
'{:.2%}'.format(1 / 3)
[1, 2, 3].index(2)
[1, 2, 1].count(1)
[1, 2, 1.0, True].count(1)
(1, 2).index(2)
(1, 1).count(1)
list(dict(b=1, a=2))
list({3: 0, 1: 0}.items())
list(reversed({'a': 1, 'b': 2}))
{'a': 1}.items() == {'a': 1}.items()
{'a': 1}.keys() & {'a', 'b'}
'a' in {'a': 1}.keys()
('a', 1) in {'a': 1}.items()
{'a': 1}.keys() | {'b'} == {'a', 'b'}
list({'a': 1, 'b': 2}.values())[::-1]
'''
OF_TENSORS = r"""
torch.tensor([1, 2, 3]).tolist()
torch.tensor([1, 2]).dtype
torch.tensor([1.0, 2]).dtype
torch.tensor([True]).dtype
torch.tensor(3).item()
torch.tensor([1, 2.5]).tolist()
torch.tensor([True, 2]).tolist()
(torch.tensor([-7, 7]) // 2).tolist()
(torch.tensor([-7, 7]) % 3).tolist()
(torch.tensor([-7, 7]) / 2).tolist()
torch.remainder(torch.tensor([-7.0, 7.0]), -3).tolist()
torch.fmod(torch.tensor([-7.0, 7.0]), 3).tolist()
torch.fmod(torch.tensor([-7, 7]), 3).tolist()
(torch.tensor([-7, 7]) % -3).tolist()
(7 // torch.tensor([-2, 2])).tolist()
(7 % torch.tensor([-2, 4])).tolist()
torch.div(torch.tensor([-7, 7]), 2, rounding_mode='floor').tolist()
torch.div(torch.tensor([-7, 7]), 2, rounding_mode='trunc').tolist()
torch.div(torch.tensor([-7.0, 7.0]), 2, rounding_mode='trunc').tolist()
torch.div(torch.tensor([-7, 7]), 2).tolist()
torch.floor_divide(torch.tensor([-7, 7]), 2).tolist()
(torch.tensor([1, 2]) + 1.5).dtype
(torch.tensor([1, 2]) + torch.tensor(1.5)).dtype
(torch.tensor([1], dtype=torch.int32) + torch.tensor(1)).dtype
(torch.tensor([1], dtype=torch.int8) + torch.tensor([1], dtype=torch.uint8)).dtype
(torch.tensor([1.0], dtype=torch.float16) + torch.tensor(1.0, dtype=torch.float64)).dtype
(torch.tensor([True]) + 1).dtype
(torch.tensor([True]) + True).dtype
(torch.tensor([1], dtype=torch.uint8) * 300).tolist()
(torch.tensor([1.0], dtype=torch.float16) + torch.tensor([1.0], dtype=torch.bfloat16)).dtype
(torch.tensor(1, dtype=torch.int32) + 1).dtype
(torch.tensor(1) * 2.0).dtype
(torch.tensor(True) * 2).dtype
torch.tensor([200], dtype=torch.uint8).add(100).tolist()
(torch.tensor([127], dtype=torch.int8) + 1).tolist()
(torch.tensor([2 ** 31 - 1], dtype=torch.int32) + 1).tolist()
(torch.tensor([2 ** 62]) * 2).tolist()
(-torch.tensor([1], dtype=torch.uint8)).tolist()
(torch.tensor([100], dtype=torch.int8) * 2).tolist()
torch.tensor([3.7, -3.7]).int().tolist()
torch.tensor([3.7, -3.7]).long().tolist()
torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5]).round().tolist()
torch.tensor([0.0, 0.1, -1]).bool().tolist()
torch.tensor([300]).to(torch.uint8).tolist()
torch.tensor([-1]).to(torch.uint8).tolist()
torch.tensor([1.9]).to(torch.int32).item()
torch.tensor([3.7, -3.7]).trunc().tolist()
torch.tensor([3.7, -3.7]).floor().tolist()
torch.tensor([3.2, -3.7]).ceil().tolist()
torch.tensor([1.5, -1.25]).frac().tolist()
int(torch.tensor(3.9))
float(torch.tensor(3))
bool(torch.tensor(0))
int(torch.tensor([-3.9]))
torch.tensor(2.5).item()
round(torch.tensor(2.5).item())
torch.tensor(0.1).item()
torch.tensor(0.1, dtype=torch.float64).item()
float(torch.tensor(1) / 3)
(torch.tensor(1) / 3).item()
(torch.tensor([1, 2, 3]) > 2).tolist()
(torch.tensor([1, 2, 3]) == 2).tolist()
(torch.tensor([1, 2, 3]) != torch.tensor([1, 0, 3])).tolist()
torch.eq(torch.tensor([1]), 1.0).tolist()
(torch.tensor([1.0]) == 1).all().item()
(torch.tensor([True, False]) & torch.tensor([True, True])).tolist()
(~torch.tensor([True, False])).tolist()
(~torch.tensor([1, 0])).tolist()
(torch.tensor([5]) & 3).tolist()
(torch.tensor([5]) | 2).tolist()
(torch.tensor([5]) ^ 1).tolist()
(torch.tensor([5]) << 2).tolist()
(torch.tensor([-5]) >> 1).tolist()
torch.cumsum(torch.tensor([1, 2, 3]), 0).tolist()
torch.cumsum(torch.tensor([True, True]), 0).tolist()
torch.cumprod(torch.tensor([1, 2, 3]), 0).tolist()
torch.sum(torch.tensor([True, True])).item()
torch.tensor([1, 2], dtype=torch.int32).sum().dtype
torch.tensor([1, 2, 4]).float().mean().item()
torch.prod(torch.tensor([2, 3])).item()
torch.tensor([[1, 2], [3, 4]]).sum(0).tolist()
torch.tensor([1.0, 2.0, 4.0]).var(unbiased=False).item()
torch.tensor([3, 1, 2]).max().item()
torch.tensor([3, 1, 3]).argmax().item()
torch.tensor([3, 1, 1]).argmin().item()
torch.tensor([3.0, 1, 2]).median().item()
torch.tensor([1.0, 2.0, 3.0, 4.0]).median().item()
torch.sort(torch.tensor([3, 1, 2]))[0].tolist()
torch.sort(torch.tensor([3, 1, 2]), descending=True)[1].tolist()
torch.argsort(torch.tensor([3, 1, 2])).tolist()
torch.sort(torch.tensor([1, 0, 1, 0]), stable=True)[1].tolist()
torch.topk(torch.tensor([3, 1, 2]), 2)[0].tolist()
torch.topk(torch.tensor([3, 1, 2]), 2, largest=False).indices.tolist()
torch.flip(torch.tensor([1, 2, 3]), [0]).tolist()
torch.roll(torch.tensor([1, 2, 3]), 1).tolist()
torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 4])).tolist()
torch.bucketize(torch.tensor([3, 4]), torch.tensor([1, 3, 5])).tolist()
torch.arange(5).tolist()
torch.arange(1, 2.5, 0.5).tolist()
torch.arange(0, 1, 0.1).tolist()
torch.arange(5, 0, -2).tolist()
torch.arange(0, 0.3, 0.1).tolist()
torch.arange(3.0).dtype
torch.arange(3, dtype=torch.float32).tolist()
torch.linspace(0, 1, 4).tolist()
torch.linspace(0, 1, 3, dtype=torch.float64).tolist()
torch.arange(-1, 1, 0.3).tolist()
torch.linspace(0, 1, 1).tolist()
torch.linspace(0.1, 0.9, 11).tolist()
torch.zeros(2).tolist()
torch.ones(2, dtype=torch.long).tolist()
torch.full((2,), 3).dtype
torch.full((2,), 3.0).dtype
torch.full((2,), True).dtype
torch.eye(2).tolist()
torch.zeros(2, 3).shape
torch.empty(0).numel()
torch.zeros_like(torch.tensor([1])).dtype
torch.full_like(torch.tensor([1.0]), 3).tolist()
torch.ones(()).item()
torch.diag(torch.tensor([1, 2])).tolist()
torch.tril(torch.ones(2, 2)).tolist()
torch.triu(torch.ones(2, 3), 1).tolist()
torch.where(torch.tensor([True, False]), torch.tensor([1, 2]), torch.tensor([3, 4])).tolist()
torch.where(torch.tensor([True, False]), 1, 2.5).tolist()
torch.where(torch.tensor([1, 0]) > 0, torch.tensor([1]), 2.0).dtype
torch.nonzero(torch.tensor([1, 0, 2])).tolist()
torch.tensor([1, 2, 3])[torch.tensor([True, False, True])].tolist()
torch.tensor([1, 2, 3]).masked_fill(torch.tensor([True, False, False]), 9).tolist()
torch.clamp(torch.tensor([1, 5]), 2, 4).tolist()
torch.clamp(torch.tensor([1, 5]), min=2.5).tolist()
torch.tensor([1, 5]).clamp(max=3).tolist()
torch.tensor([[1, 2], [3, 4]])[0].tolist()
torch.tensor([[1, 2], [3, 4]])[:, 1].tolist()
torch.tensor([[1, 2], [3, 4]])[..., -1].tolist()
torch.tensor([[1, 2], [3, 4]])[[0, 1], [1, 0]].tolist()
torch.tensor([1, 2, 3])[[2, 0]].tolist()
torch.tensor([1, 2, 3])[-1].item()
torch.tensor([1, 2, 3])[None].shape
torch.tensor([1, 2, 3])[1:].tolist()
torch.tensor([1, 2, 3, 4])[::2].tolist()
torch.tensor([[1, 2], [3, 4]])[torch.tensor([1, 0])].tolist()
torch.tensor([[1, 2], [3, 4]]).T.tolist()
torch.tensor([[1, 2], [3, 4]])[:, None, 0].tolist()
torch.tensor([1, 2, 3])[torch.tensor(1)].item()
torch.tensor([[1, 2], [3, 4]])[1, 0].item()
torch.tensor([1, 2, 3]).view(3, 1).tolist()
torch.tensor([1, 2]).repeat(2).tolist()
torch.tensor([1, 2]).repeat_interleave(2).tolist()
torch.cat([torch.tensor([1]), torch.tensor([2.5])]).tolist()
torch.stack([torch.tensor(1), torch.tensor(2)]).tolist()
torch.tensor([1, 2, 3, 4]).chunk(3)[0].tolist()
torch.tensor([1, 2, 3]).split(2)[1].tolist()
torch.outer(torch.tensor([1, 2]), torch.tensor([3, 4])).tolist()
torch.meshgrid(torch.arange(2), torch.arange(3), indexing='ij')[1].tolist()
torch.tensor([1, 2]).unsqueeze(0).shape
torch.tensor([[1, 2], [3, 4]]).flatten().tolist()
torch.tensor([1, 2, 3]).unfold(0, 2, 1).tolist()
torch.cat([torch.tensor([1], dtype=torch.int32), torch.tensor([2])]).dtype
torch.tensor([1, 2]).pow(2).tolist()
(torch.tensor([2, 3]) ** 2).tolist()
(2 ** torch.tensor([1, 2])).tolist()
(torch.tensor([2.0, 4.0]) ** 0.5).tolist()
(2.0 ** torch.tensor([1, 2])).tolist()
(torch.tensor([2]) ** 0.5).tolist()
torch.tensor([4.0]).sqrt().tolist()
torch.sqrt(torch.tensor(2)).item()
torch.abs(torch.tensor([-1, 2])).tolist()
torch.sign(torch.tensor([-2.0, 0, 3])).tolist()
torch.neg(torch.tensor([1])).tolist()
torch.reciprocal(torch.tensor([2])).tolist()
torch.tensor([1, 2]).float().norm().item()
(torch.tensor([1, 2]) ** (-1.0)).tolist()
torch.maximum(torch.tensor([1, 5]), torch.tensor([3, 2])).tolist()
torch.min(torch.tensor([[1, 5], [3, 2]]), 1).values.tolist()
torch.max(torch.tensor([[1, 5], [3, 2]]), dim=0)[1].tolist()
torch.max(torch.tensor([1, 5]), torch.tensor([3])).tolist()
torch.any(torch.tensor([0, 1])).item()
torch.all(torch.tensor([1, 0])).item()
torch.tensor([[1, 0], [0, 0]]).any(1).tolist()
torch.isnan(torch.tensor([float('nan'), 1])).tolist()
torch.count_nonzero(torch.tensor([0, 1, 2])).item()
torch.amax(torch.tensor([[1, 5], [3, 2]]), 1).tolist()
torch.tensor([1, 2, 3]).numel()
torch.tensor([[1, 2]]).dim()
torch.tensor([[1, 2]]).size(1)
torch.tensor([[1, 2]]).shape[-1]
len(torch.tensor([1, 2]))
torch.tensor([[1, 2]]).ndim
torch.Size([1, 2]).numel()
torch.zeros(2, 3).size()
list(torch.zeros(2, 3).shape)
tuple(torch.zeros(2, 3).shape)
torch.zeros(2, 3).shape == (2, 3)
torch.finfo(torch.float32).max
torch.finfo(torch.float16).min
torch.iinfo(torch.int32).max
torch.finfo(torch.float32).eps
torch.finfo(torch.float32).tiny
torch.float32 == torch.float
torch.is_tensor(1)
torch.tensor([1.0, 2.0]).half().tolist()
torch.tensor([0.1]).half().tolist()
torch.tensor([0.1]).bfloat16().tolist()
torch.tensor([65504.0]).half().add(100).tolist()
torch.tensor([70000.0]).half().tolist()
(torch.tensor([0.1]).half() * 3).tolist()
torch.tensor([1.0]).half().dtype
(torch.tensor([2049.0]).half() + 1).tolist()
torch.tensor([1 / 3], dtype=torch.float64).float().double().tolist()
(torch.tensor([0.1]) + torch.tensor([0.2])).tolist()
(torch.tensor([0.1]).double() + 0.2).tolist()
(torch.tensor([16777216.0]) + 1).tolist()
torch.bmm(torch.ones(1, 2, 3), torch.ones(1, 3, 2)).tolist()
torch.matmul(torch.tensor([1, 2]), torch.tensor([3, 4])).item()
(torch.tensor([[1.0, 2.0]]) @ torch.tensor([[3.0], [4.0]])).tolist()
torch.dot(torch.tensor([1.0, 2]), torch.tensor([3.0, 4])).item()
torch.tensor([1, 2]).cumsum(0)[-1].item()
torch.diff(torch.tensor([1, 4, 9])).tolist()
torch.gather(torch.tensor([1, 2, 3]), 0, torch.tensor([2, 0])).tolist()
torch.index_select(torch.tensor([1, 2, 3]), 0, torch.tensor([2])).tolist()
torch.take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([3])).tolist()
torch.tensor([1, 2, 3]).scatter(0, torch.tensor([1]), 9).tolist()
torch.scatter_add(torch.zeros(3), 0, torch.tensor([1, 1]), torch.ones(2)).tolist()
torch.zeros(3).index_add(0, torch.tensor([0, 0]), torch.ones(2)).tolist()
torch.zeros(3).index_fill(0, torch.tensor([1]), 5).tolist()
F.one_hot(torch.tensor([0, 2]), 3).tolist()
F.pad(torch.tensor([1, 2]), (1, 1), value=9).tolist()
F.relu(torch.tensor([-1, 2])).tolist()
F.normalize(torch.tensor([[3.0, 4.0]])).tolist()
"""
OF_ARRAYS = r"""
np.array([1, 2, 3]).tolist()
float(np.array([1, 2]).dtype == np.int64)
float(np.array([1.0, 2]).sum())
(np.array([-7, 7]) // 2).tolist()
(np.array([-7, 7]) % 3).tolist()
(np.array([1, 2]) / 2).tolist()
np.arange(5).tolist()
np.arange(0, 1, 0.25).tolist()
np.linspace(0, 1, 5).tolist()
np.linspace(0, 0.3, 4).tolist()
np.zeros(2).tolist()
np.ones((2, 2)).tolist()
np.array([[1, 2], [3, 4]]).T.tolist()
np.array([1, 2, 3])[::-1].tolist()
np.array([1, 2, 3])[[2, 0]].tolist()
np.array([1, 2, 3])[np.array([True, False, True])].tolist()
np.cumsum([1, 2, 3]).tolist()
float(np.array([1, 2, 3]).mean())
float(float(np.mean([1, 2, 4])))
float(np.round(2.567, 2))
np.where(np.array([1, 0]) > 0, 1, 2).tolist()
np.concatenate([[1], [2, 3]]).tolist()
np.stack([np.array([1]), np.array([2])]).tolist()
np.repeat([1, 2], 2).tolist()
np.tile([1, 2], 2).tolist()
np.outer([1, 2], [3, 4]).tolist()
np.sqrt([4.0, 9.0]).tolist()
np.power(2, [1, 2]).tolist()
float(np.max([1, 3]))
np.abs([-1]).tolist()
np.full((2,), 7).tolist()
np.eye(2).tolist()
np.array([1, 2]).astype(np.float32).tolist()
np.array([1.7]).astype(int).tolist()
np.unique([3, 1, 3]).tolist()
float(np.prod([2, 3]).item())
np.array([[1, 2], [3, 4]]).sum(axis=0).tolist()
np.array([0.1, 0.2], dtype=np.float32).tolist()
float(np.array(5).item())
np.array([[1, 2]]).reshape(-1).tolist()
float(np.floor(-1.5))
float(np.float32(0.1).item())
float(float(np.float32(0.1)))
float(np.int32(7) // 2)
float(np.log(2))
np.ceil([1.2]).tolist()
np.array([127], dtype=np.int8).tolist()
float(np.mod(-7, 3))
float(np.sum([1, 2]))
float(np.min([2, 1]))
np.meshgrid(np.arange(2), np.arange(3))[0].tolist()
np.tril(np.ones((2, 2))).tolist()
np.triu(np.ones((2, 2)), k=1).tolist()
float(np.array([1, 2]).size)
float(np.array([[1, 2]]).ndim)
float(np.ceil(7 / 2))
float(np.log2(8))
float(int(np.log2(8)))
float(np.ceil(1.2) * 2)
float(isinstance(np.ceil(1.5), float))
float(np.floor(7 / 2) // 2)
float(np.round(2.5))
float(np.prod((2, 3)) / 2)
float(np.sum([0.1] * 3))
float(np.int64(5) / 2)
float(np.bool_(True))
float(np.array([True, False]).sum())
float(np.array([1, 2, 3]).max())
float(np.array([3, 1, 2]).min() // 2)
np.asarray([1, 2]).tolist()
np.array([1, 2, 3, 4]).reshape(2, 2).tolist()
(np.array([1, 2]) + np.array([[1], [2]])).tolist()
np.array([1, 2]).tolist() + [3]
float(list(np.array([1, 2])) == [1, 2])
float(np.array([2, 3])[0] + 1)
float(np.arange(3)[-1])
np.arange(10)[2:8:3].tolist()
float(np.pi * 2)
float(np.e)
float(np.power(2.0, 3))
float(np.power(2, 3))
float(np.add(1, 2))
float(np.multiply(2, 3.5))
float(np.isnan(np.nan))
float(np.trunc(-1.5))
float(np.around(0.125, 2))
np.array([1, 2, 3])[-2:].tolist()
np.ones(3).tolist()
np.ones(3, int).tolist()
np.zeros((2,), dtype='int32').tolist()
"""
PROGRAMS = r"""
a = [1]; b = a; a += [2]; return a, b, a is b
---
a = (1,); b = a; a += (2,); return a, b
---
a = [1]; b = a; a = a + [2]; return a, b
---
a = [[0] * 2] * 2; a[0][0] = 1; return a
---
def f(x, acc=[]):
    acc.append(x); return acc
f(1); return f(2), f(3, [])
---
fs = [lambda: i for i in range(3)]; return [f() for f in fs]
---
fs = [lambda i=i: i for i in range(3)]; return [f() for f in fs]
---
def outer():
    n = 0
    def inc():
        nonlocal n; n += 1; return n
    inc(); inc(); return n
return outer()
---
def f():
    x = 1
    def g(): return x
    x = 2
    return g()
return f()
---
x = 5
r = [x for x in range(3)]
return x, r
---
def gen():
    for i in range(3):
        got = yield i
    return 5
g = gen(); return next(g), list(g), list(g)
---
def g(n):
    while n: 
        yield n
        n -= 1
return sum(g(4)), max(g(3)), [*g(2)], tuple(g(1)), dict(enumerate(g(2)))
---
out = []
def f():
    try:
        out.append(1); return 'a'
    finally:
        out.append(2)
return f(), out
---
def f():
    try:
        return 1
    finally:
        return 2
return f()
---
def f():
    for i in range(3):
        try:
            continue
        finally:
            if i == 1: break
    return i
return f()
---
for i in range(3):
    if i == 5: break
else:
    i = 'none'
return i
---
i = 0
while i < 3:
    i += 1
    if i == 2: break
else:
    i = 99
return i
---
r = []
for i in range(5):
    if i % 2: continue
    r.append(i)
    i = 10
return r, i
---
a, *b = [1, 2, 3]; *c, d = 'abc'; e, (f, *g), h = 1, (2, 3, 4), 5; [k, l] = {1: 2, 3: 4}; return a, b, c, d, e, f, g, h, k, l
---
a = [1, 2, 3, 4, 5]; a[1:3] = [9]; a[::2] = [7, 7]; del a[0]; a[5:] = [1, 2]; a[0:0] = [0]; return a
---
a = list(range(6)); del a[::2]; b = list(range(6)); b[::-1] = range(6); c = [1, 2, 3]; c[-2:] = []; return a, b, c
---
a = [1, 2, 3]; a.insert(1, 9); a.insert(-1, 8); a.insert(100, 7); a.remove(9); a.pop(0); a.extend('xy'); a.reverse(); return a, a.pop(), a
---
a = [3, 1, 2]; b = a.sort(); c = a.copy(); c.sort(reverse=True); c.sort(key=lambda v: -v); a.clear(); return a, b, c
---
d = {'b': 1, 'a': 2}; del d['b']; d['b'] = 3; d['a'] = 4; d.update(c=5, a=6); x = d.popitem(); return d, x, list(d)
---
d = {}; d.setdefault('a', []).append(1); d.setdefault('a', []).append(2); return d
---
d = {'a': 1}; e = d; e['b'] = 2; f = dict(d); f['c'] = 3; g = d.copy(); g['d'] = 4; return d, f, g, e is d
---
d = {1: 'a'}; d[True] = 'b'; d[1.0] = 'c'; d['1'] = 'd'; d[(1, 2)] = 'e'; return d
---
d = {'a': 1, 'b': 2}; d |= {'b': 3, 'c': 4}; return d, {**d, 'a': 0}
---
s = {1, 2}; s.add(3); s.discard(9); s.remove(1); s |= {5}; s -= {2}; s.update([7]); t = s.copy(); t.add(0); return sorted(s), sorted(t), len(s)
---
class A:
    x = []
    y = 1
    def __init__(self): self.y = 2
a, b = A(), A(); a.x.append(1); A.y = 5; return b.x, a.y, A.y, A.x is b.x
---
class A:
    n = 0
    def inc(self): self.n += 1; return self.n
a, b = A(), A(); a.inc(); a.inc(); return a.n, b.n, A.n
---
class A:
    def __init__(self, **k): self.k = k
class B(A):
    def __init__(self, b, **k): super().__init__(**k); self.b = b
class C(A):
    def __init__(self, c=3, **k): super().__init__(**k); self.c = c
class D(B, C): pass
d = D(1, c=2, z=9); return d.b, d.c, d.k
---
class P:
    def __init__(self): self._v = 1
    @property
    def v(self): return self._v
    @v.setter
    def v(self, n): self._v = n * 2
p = P(); p.v = 5; p.v += 1; return p.v, p._v
---
class G:
    def __getattr__(self, n): return n + '!'
    def __getitem__(self, k): return k
    def __len__(self): return 3
    def __call__(self, *a): return a
    def __contains__(self, v): return v == 2
    def __iter__(self): return iter([7, 8])
    def __bool__(self): return False
g = G(); g.z = 1; return g.a, g.z, g[1:2] == slice(1, 2), g[1, 2], len(g), g(1, 2), 2 in g, 3 in g, list(g), bool(g), 'y' if g else 'n'
---
class I:
    def __getitem__(self, i):
        if i > 2: raise IndexError
        return i * 10
return list(I()), 20 in I(), [a for a in I()], max(I())
---
class C:
    count = 0
    @classmethod
    def make(cls, n): o = cls(); o.n = n; cls.count += 1; return o
    @staticmethod
    def s(x): return x * 2
class D(C): pass
d = D.make(5); C.make(1); return d.n, type(d).__name__, C.count, D.count, C.s(3), d.s(4)
---
class N(NamedTuple):
    a: int
    b: str = 'z'
n = N(1); return n, n.b, n._replace(b='q'), n == (1, 'z'), N(2, 'k')[1]
---
f = partial(lambda a, b, c=3: (a, b, c), 1, c=5); return f(2), f(2, c=6), f.args, f.keywords, partial(f, 9)()
---
@lru_cache()
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
return fib(50)
---
def deco(n):
    def wrap(f):
        @wraps(f)
        def g(*a, **k): return f(*a, **k) * n
        return g
    return wrap
@deco(2)
@deco(3)
def f(x): return x + 1
return f(1), f.__name__
---
class D:
    def __init__(self, f): self.f = f; self.n = 0
    def __call__(self, *a): self.n += 1; return self.f(*a)
@D
def f(x): return x
f(1); f(2); return f.n, f(3)
---
log = []
class CM:
    def __init__(s, n): s.n = n
    def __enter__(s): log.append('in' + s.n); return s
    def __exit__(s, t, v, tb): log.append('out' + s.n); return True
with CM('a') as a, CM('b') as b:
    log.append(a.n + b.n)
with CM('c'):
    raise ValueError('x')
return log
---
match 5:
    case 1: r = 'one'
    case 2 | 5: r = 'two or five'
    case _: r = 'other'
return r
---
a = [1, [2, 3]]; b = copy.copy(a); c = copy.deepcopy(a); a[1].append(4); return b, c
---
class A: pass
x = A(); x.l = [1]; x.me = x; y = copy.copy(x); z = copy.deepcopy(x); x.l.append(2); return y.l, z.l, z.me is z, y.me is x
---
a = [1]; d = {'p': a, 'q': a}; e = copy.deepcopy(d); e['p'].append(2); return e, d
---
x = 1
def f():
    global GG
    GG = 7
    return GG
return f() + GG
---
def f(a, b=2, *args, c, d=4, **kw): return a, b, args, c, d, kw
return f(1, c=3), f(*[1, 2, 3], **{'c': 5, 'e': 6}), f(1, *(2,), *[3], c=1, **{'z': 1}, **{'y': 2})
---
class E(ValueError):
    def __init__(self, n): super().__init__('msg', n); self.n = n
try:
    try: raise E(3)
    except KeyError: r = 'key'
    finally: q = 1
except (TypeError, ValueError) as e:
    r = e.n, e.args, str(e), isinstance(e, E)
return r, q
---
x = [1, 2, 3]
for v in x:
    if v < 3: x.append(v + 10)
    if len(x) > 6: break
return x
---
x = [1, 2, 3, 4]
for v in x:
    if v == 2: x.remove(v)
return x
---
a = b = []; a.append(1); c, d = [], []; c.append(2); return a, b, c, d
---
i = 0; a = [0, 0, 0]; i, a[i] = 1, 5; return i, a
---
a = [1, 2]; a[0], a[1] = a[1], a[0]; x, y = 1, 2; x, y = y, x + y; return a, x, y
---
def f(): 
    log.append('f'); return 1
def g(): 
    log.append('g'); return 2
log = []; d = {f(): g()}; r = [f(), g()]; x = f() if g() else 0; y = g() + f(); return log
---
return [(x, y) for x in range(3) if x for y in range(x, 3) if y != x], [x for x in [1, 2, 3] for x in [x, x * 10]]
---
g = (x * x for x in range(3)); a = list(g); b = list(g); return a, b, sum(x for x in range(4)), sorted(x % 3 for x in range(6))
---
it = iter([1, 2, 3, 4]); return list(zip(it, it)), next(it, 'done')
---
a = zip([1, 2], [3, 4]); b, c = zip(*a); return b, c, list(zip(*[[1, 2], [3, 4]])), list(zip(*[iter(range(6))] * 2))
---
m = map(lambda x: x + 1, [1, 2]); return next(m), list(m), list(m)
---
e = enumerate('ab'); return next(e), list(e)
---
class It:
    def __init__(s): s.n = 0
    def __iter__(s): return s
    def __next__(s):
        s.n += 1
        if s.n > 3: raise StopIteration
        return s.n
return list(It()), sum(It()), 2 in It(), [*It()], dict(zip(It(), 'abc'))
---
class A:
    __slots__ = ('x',)
    def __init__(s): s.x = 1
return A().x
---
class A:
    def __init_subclass__(cls, **k): cls.reg = k.get('n', 0)
class B(A, n=5): pass
return B.reg
---
class A:
    def __set_name__(self, o, n): self.n = '_' + n
    def __get__(self, o, t=None): return getattr(o, self.n, 0) if o is not None else self
    def __set__(self, o, v): setattr(o, self.n, v * 2)
class B: x = A()
b = B(); r = b.x; b.x = 4; return r, b.x
---
x = 3
x //= 2; x **= 4; x <<= 3; x |= 5; x ^= 1; x &= 0xff; x -= 2; x *= 3; x %= 7; x >>= 1
y = 7; y /= 2
return x, y
---
s = 'ab'; s += 'c'; s *= 2; t = (1,); t *= 2; l = [1]; m = l; l *= 2; return s, t, l, m
---
def f(n): return 1 if n <= 1 else n * f(n - 1)
return f(10), f(15)
---
def f(*, a=1): return a
def g(a, *b): return b
return f(), f(a=2), g(1), g(1, 2, 3)
---
f = lambda *a, **k: len(a) + len(k); return f(), f(1, 2, x=3)
---
x = 5
def f(v=x): return v
x = 6
return f()
---
class A:
    def f(self): return self.__g()
    def __g(self): return 1
class B(A):
    def __g(self): return 2
return B().f(), hasattr(B(), '_A__g')
---
a = 1,; b = (); c = (1, 2)[::-1]; return a, b, c, a + c, c * 2, 1 in a
---
return [1, 2, 3] == [1, 2, 3], [1, 2] != [1, 2], (1, [2]) == (1, [2]), {'a': [1]} == {'a': [1]}, {1, 2} == {1, 2}, 'a' == 'a', None == None, [1] is [1], () == []
---
d = defaultdict(list); d['a'].append(1); d['b']; e = defaultdict(int); e['x'] += 1; f = defaultdict(lambda: 5); return dict(d), dict(e), f['q'], len(f), 'z' in d, d.get('z'), len(d)
---
try:
    import nonexistent_module_xyz
    r = 1
except ImportError:
    r = 0
return r
---
r = []
for i in range(2):
    for j in range(3):
        if j == 1: break
        r.append((i, j))
    else: r.append('else')
return r
---
def f(x):
    if x > 5: return 'big'
    elif x > 2: return 'mid'
    else: pass
return f(6), f(3), f(1)
---
a = [1, 2, 3]; b = a[:]; b[0] = 9; c = list(a); c[1] = 8; return a, b, c, a[:] is a
---
s = "x=%d, y=%s" % (1, [2]); return s, len(s), s.upper(), s[2:4], 'y' in s
---
return str(1) + str(2.0) + str([3]) + repr('q'), '%s' % {'a': 1}, "{}".format((1, 2)), f"{(1, 2)}", "a" "b"
---
l = [lambda x, n=n: x ** n for n in (1, 2)]; return [g(3) for g in l], list(map(lambda f: f(2), l))
---
x = [[1, 2], [3, 4]]; return [row[::-1] for row in x][::-1], list(map(list, zip(*x))), [c for r in x for c in r], sum(x, [])
---
cfg = {'vgg': [64, 'M', 128]}; return [v for v in cfg['vgg'] if v != 'M'], [i for i, v in enumerate(cfg['vgg']) if v == 'M'], sum(v for v in cfg['vgg'] if isinstance(v, int))
---
def make_divisible(v, divisor=8, min_value=None, round_limit=.9):
    min_value = min_value or divisor
    new_v = max(min_value, int(v + divisor / 2) // divisor * divisor)
    if new_v < round_limit * v: new_v += divisor
    return new_v
return [make_divisible(v * w) for v in (16, 24, 40, 80, 112) for w in (0.35, 0.5, 1.0, 1.3, 1.4)]
---
class A:
    def __eq__(s, o): return True
return A() == 1, 1 == A(), A() != 1, A() in [1], [A()] == [5]
---
class A:
    def __init__(s, v): s.v = v
    def __repr__(s): return 'A%d' % s.v
    def __str__(s): return 'S%d' % s.v
    def __format__(s, f): return 'F' + f
a = A(1); return f'{a}', f'{a!r}', f'{a!s}', f'{a:>3}', '%s %r' % (a, a), '{}'.format(a), str([a]), str(a), str({'k': a})
---
r = []
def f():
    r.append('start')
    yield 1
    r.append('mid')
    yield 2
    r.append('end')
for v in f(): r.append(v)
return r
---
x = 'a'
r = {'a': 1, 'b': 2}[x] if x in 'ab' else 3
return r, {True: 'y', False: 'n'}[1 > 0], ('n', 'y')[True], [10, 20][x == 'a']
---
return list({}.items()), list(set()), dict(), [[]] * 2, '' * 3, {}.get(1), bool([[]])
---
x, y = 7, 2; return x / y, x // y, x % y, -x // y, -x % y, x ** -y, x & y, x | y, ~x, x << y, x >> y, x and y, not x
---
def f(n, memo={}):
    if n in memo: return memo[n]
    memo[n] = n if n < 2 else f(n - 1) + f(n - 2)
    return memo[n]
return f(30)
---
return "a-b_c".replace("-", "_").split("_"), "layer.0.weight".split("."), ".".join(["a", "b"]), "conv1".startswith("conv"), int("conv12"[4:]), "x".join("abc"), "  a b ".split(), "A,B".lower().split(",")
---
return re.match(r'(\w+)(\d)', 'abc1').groups(), re.sub(r'\d+', '#', 'a1b22'), re.findall(r'\d', 'a1b2'), bool(re.search('z', 'abc')), re.split(r'[,;]', 'a,b;c')
---
r = []
for bad in [lambda: [][0], lambda: {}['a'], lambda: [1, 2].index(5), lambda: (1, 2)[5], lambda: next(iter([])), lambda: [].pop(), lambda: 1 % 0, lambda: 1.0 // 0, lambda: 0 ** -1, lambda: [1].remove(2), lambda: {}.pop('a'), lambda: max([]), lambda: 1 / 0]:
    try: bad(); r.append('ok')
    except Exception as e: r.append(type(e).__name__)
return r
---
class A:
    def __init__(s): s.v = 1
try: A().zzz; r = 1
except AttributeError: r = 2
return r
---
d = {0.0: 'a'}; d[-0.0] = 'b'; d[1e16] = 'c'; d[10**16] = 'd'; d[2**53] = 'e'; d[float(2**53)] = 'f'; d[None] = 'g'; d[()] = 'h'; d[(1, 2.0)] = 'i'; d[(1.0, 2)] = 'j'; return d
---
class Base:
    p: int = 5
@dataclass
class C(Base):
    a: int = 1
return C(3).a, C().p
---
@dataclass
class A:
    x: int = 1
    def __eq__(s, o): return True
@dataclass(eq=False)
class B:
    x: int = 1
return A(1) == A(2), B(1) == B(1), A(1) != A(2)
---
class A:
    def __init__(self, x): self.x = x
    def __lt__(self, o): return self.x < o.x
    def __gt__(self, o): return self.x > o.x
    def __repr__(self): return str(self.x)
l = [A(3), A(1), A(2)]
return sorted(l), max(l), min(l), sorted(l, reverse=True)
---
class A:
    x = 1
    def __init__(self): self.x += 1
a = A(); b = A(); A.x = 10; c = A(); return a.x, b.x, c.x, A.x
---
class A:
    items = []
    def add(self, v): self.items.append(v); return self
    def setnew(self, v): self.items = self.items + [v]
a, b = A(), A(); a.add(1).add(2); b.setnew(3); return a.items, b.items, A.items
---
class A:
    items = []
    def add(self, v): self.items += [v]
a, b = A(), A(); a.add(1); b.add(2); return a.items, b.items, A.items, a.items is A.items
---
class A:
    def __getattr__(self, n):
        if n.startswith('x'): return 5
        raise AttributeError(n)
a = A(); return a.x1, hasattr(a, 'y'), getattr(a, 'y', 3), getattr(a, 'xx', 3)
---
class A:
    @property
    def p(self): return 1
class B(A):
    @property
    def p(self): return super().p + 1
return B().p
---
class A:
    @classmethod
    def c(cls): return cls.__name__
    @staticmethod
    def s(): return 's'
class B(A):
    @classmethod
    def c(cls): return 'B' + super().c()
return B.c(), B().c(), B.s(), B().s(), A.c()
---
class A:
    def f(self): return 1
    g = f
    h = lambda self: self.f() + 1
a = A(); m = a.f; A.f = lambda self: 5; return m(), a.f(), a.g(), a.h()
---
class A: pass
a = A(); a.f = lambda: 3; A.g = lambda self: 4; return a.f(), a.g()
---
class A:
    def __enter__(self): return 1
    def __exit__(self, *a): return False
r = []
try:
    with A() as x:
        r.append(x); raise KeyError('k')
except KeyError as e: r.append(e.args[0])
return r
---
r = []
def f():
    for i in range(3):
        try:
            if i == 1: continue
            if i == 2: return 'ret'
            r.append(i)
        finally:
            r.append('f%d' % i)
return f(), r
---
def f():
    try:
        raise ValueError
    except ValueError:
        return 'e'
    else:
        return 'el'
    finally:
        pass
return f()
---
x = []
try:
    try:
        raise KeyError('a')
    finally:
        x.append(1)
except LookupError:
    x.append(2)
return x
---
def f(*args, sep='-'): return sep.join(map(str, args))
return f(1, 2), f(*'ab', sep='+'), f()
---
def f(a, b=[], **kw): b.append(a); kw['n'] = len(b); return b, kw
f(1); return f(2, x=1), f(3, [])
---
x = 10
def f():
    x = 20
    class A:
        x = 30
        def g(self): return x
        y = x
    return A().g(), A.y
return f()
---
fs = []
for i in range(3):
    def g(): return i
    fs.append(g)
i = 7
return [f() for f in fs]
---
def counter():
    c = [0]
    def inc(): c[0] += 1; return c[0]
    return inc
a, b = counter(), counter(); a(); a(); return a(), b()
---
def f(n):
    def g(): return n
    n += 1
    return g
return f(1)()
---
l = [1, 2, 3]; m = l; l = l + [4]; n = m; m += [5]; return l, m, n
---
m = [[0] * 3 for _ in range(2)]; m[0][0] = 1; k = [[0] * 3] * 2; k[0][0] = 1; return m, k
---
a = [1, 2, 3]; b = a; b = b[:]; b.append(4); c = a; c[:] = [9]; return a, b, c
---
a = {'x': [1]}; b = dict(a); b['x'].append(2); b['y'] = 1; return a, b
---
a = (1, [2]); b = a; a[1].append(3); a += (4,); return a, b
---
s = 0
for i in range(10):
    if i == 3: continue
    if i == 7: break
    s += i
else: s = -1
return s, i
---
n = 27; steps = 0
while n != 1: n = n // 2 if n % 2 == 0 else 3 * n + 1; steps += 1
return steps
---
return [i for i in range(20) if not any(i % p == 0 for p in range(2, i)) and i > 1]
---
return {k: v for k, v in sorted({'b': 2, 'a': 1}.items(), key=lambda kv: kv[1])}, sorted({'b': 2, 'a': 1}.items(), key=operator.itemgetter(1), reverse=True)
---
return list(map(lambda p: p[0] * p[1], zip(range(3), range(3, 6)))), [a * b for a, b in zip([1, 2, 3], [4, 5])], dict(zip(['a', 'b'], [[1], [2]]))
---
return [x for xs in [[1, 2], [3]] for x in xs if x != 2], [[x * y for y in range(2)] for x in range(2)], {(x, y): x + y for x in range(2) for y in range(2)}
---
a, (b, *c), d = 1, [2, 3, 4], 5; (e, f), *g = [(1, 2), 3]; h = i = j = 0; h += 1; return a, b, c, d, e, f, g, h, i
---
x = [3, 1, 2]; y = sorted(x); z = x.sort(); return x, y, z, x is y
---
x = 5; r = 'pos' if x > 0 else 'neg' if x < 0 else 'zero'; s = x and x > 3 or 'no'; return r, s, x > 3 and 'y', 0 or None or 'd'
---
return (lambda x, *, y=2: x * y)(3), (lambda: 5)(), (lambda *a: sum(a))(1, 2), (lambda **k: k)(a=1), [(lambda x: x + i)(1) for i in range(3)]
---
def deco(cls): cls.extra = 5; return cls
@deco
class A: pass
return A.extra, A().extra
---
def memo(f):
    cache = {}
    def g(n):
        if n not in cache: cache[n] = f(n)
        return cache[n]
    return g
@memo
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
return fib(40)
---
def gen(n):
    i = 0
    while True:
        if i >= n: return
        yield i ** 2
        i += 1
return list(gen(4)), sum(gen(3)), dict(enumerate(gen(2))), list(zip(gen(2), gen(3)))
---
class Node:
    def __init__(self, v, *kids): self.v, self.kids = v, kids
    def __iter__(self):
        yield self.v
        for k in self.kids: yield from k
return list(Node(1, Node(2, Node(3)), Node(4)))
---
import argparse
p = argparse.ArgumentParser(); p.add_argument('--n', type=int, default=3); p.add_argument('--lr', type=float, default=1e-3); p.add_argument('--flag', action='store_true'); a = p.parse_args([]); return a.n, a.lr, a.flag
---
class E(Enum):
    A = auto()
    B = auto()
    @property
    def double(self): return self.value * 2
    @classmethod
    def default(cls): return cls.A
return E.A.value, E.B.double, E.default().name
---
global_list = []
def add(v, l=global_list): l.append(v); return len(l)
add(1); add(2); return global_list, add(3)
---
return 'conv{}_{}'.format(1, 'a'), 'layer%02d' % 3, 'x{0:02d}y{1}'.format(3, 4), '{a}{b:.1f}'.format(a=1, b=2), '%s/%s' % ('a', 1), '%d%%' % 5, '{:>8}'.format('ab'), '{!r}'.format('x')
---
a = 'block3_conv12'; return int(a.split('_')[0][-1]), int(a[-2:]), a.find('conv'), a[a.index('_') + 1:], a.replace('conv', 'c'), a.split('_', 1), a.startswith('block'), a.endswith(('1', '2')), a[:5].upper(), '_'.join(reversed(a.split('_'))), a.count('o'), sorted(set('hello')), list('abc')[::-1]
---
return 7 // 2 * 2 + 7 % 2, -7 // 2 * 2 + -7 % 2, 2 ** 3 ** 0, -2 ** 2, (-2) ** 2, 10 - 2 - 3, 2 * 3 % 4, 5 & 3 | 4, 1 + 2 << 3, not 1 == 2, 1 < 2 < 3 < 2, 3 > 2 == 2, 1 if 0 else 2 if 0 else 3, ~5 & 0xff, -5 % 3, 5 // -3, 0.1 * 3 == 0.3, 1e16 + 1 == 1e16, 0.5 ** 2, 4 ** 0.5, 8 ** (1 / 3), (-1) ** 3, 10 ** -2, 1e3, 3.0 // 1, 7.0 % 3
---
return [round(x) for x in (0.5, 1.5, 2.5, -0.5, 2.4999999999999999, 1e15 + 0.5)], round(2.345, 2), round(1e-5, 5), round(-2.5), round(1.25, 1), round(1.35, 1), round(3.14159, 3), round(1e10 + 0.55, 1), round(7, -1), round(15, -1), round(0.5 + 1e-16), [int(x) for x in (1.999999999999999, 0.9999999999999999999, -1.5, 1e15)], int(2.0 ** 40), int('12') + int('-3'), int(1e3), float('1e3') + float('.5')
---
x = 224
for k, s, p in [(7, 2, 3), (3, 2, 1), (3, 1, 1)]: x = (x + 2 * p - k) // s + 1
return x, [math.floor((28 + 2 * 1 - 1 * (3 - 1) - 1) / 2 + 1), math.ceil(7 / 2), int((32 - 1) * 0.5 + 1)]
---
base = 32; mult = 1.4
def rf(f, d=8):
    f *= mult; n = max(d, int(f + d / 2) // d * d)
    if n < 0.9 * f: n += d
    return int(n)
return [rf(c) for c in (32, 16, 24, 40, 80, 112, 192, 320, 1280)], [int(math.ceil(1.8 * r)) for r in (1, 2, 2, 3, 3, 4, 1)]
---
w_0, w_a, w_m, d, q = 24, 36.44, 2.49, 13, 8
ws = [w_0 + w_a * i for i in range(d)]; ks = [round(math.log(w / w_0) / math.log(w_m)) for w in ws]; wl = [int(round(w_0 * w_m ** k / q) * q) for k in ks]
return wl, sorted(set(wl)), [wl.count(w) for w in sorted(set(wl))]
---
a = np.array([1, 2, 3]); b = a; a += 1; return b.tolist(), a.tolist()
---
a = np.array([1, 2, 3]); a[1:] += 9; return a.tolist()
---
a = np.array([1, 2, 3]); a[1:] = 7; return a.tolist()
---
a = np.array([1, 2, 3]); a[1:] = [7, 8]; a[0] = 2.7; return a.tolist()
---
a = np.zeros((2, 3)); a[0, 1] = 5; a[1] = 2; a[:, 0] = [7, 8]; return a.tolist()
---
a = np.array([[1, 2], [3, 4]]); b = a[0]; b[1] = 9; return a.tolist()
---
a = np.array([[1, 2], [3, 4]]); b = a.copy(); b[0][1] = 9; return a.tolist()
---
a = np.array([[1, 2], [3, 4]]); return sum(a.tolist(), []), a.tolist()[0] + [5]
---
a = np.array([1.5, 2.5]); a //= 2; return a.tolist()
---
a = np.array([0.1, 0.2], dtype=np.float32); return (a * 3).tolist(), (a + a).tolist(), float(a[0]), (a / 3).tolist(), a.sum().item()
---
a = np.array([200], dtype=np.uint8); return (a + 100).tolist(), (a * 2).tolist()
---
a = np.arange(5, dtype=np.float32); return a.tolist(), (a / 2).tolist(), str(torch.from_numpy(a).dtype)
---
return np.arange(0.1, 1, 0.1).tolist(), np.arange(1, 2, 0.1).tolist(), np.arange(-1, 1, 0.3).tolist(), np.arange(0.5, 3).tolist()
---
a = np.linspace(0, 1, 5, dtype=np.float32); return a.tolist()
---
a = np.linspace(0, 10, 4, dtype=int); return a.tolist(), np.linspace(0, 1, 4, endpoint=False).tolist()
---
return str(torch.from_numpy(np.array([0.1])).dtype), str(torch.tensor(np.array([1, 2])).dtype), torch.from_numpy(np.array([0.1])).tolist(), torch.tensor(np.array([0.1], dtype=np.float32)).tolist()
---
a = torch.tensor([1., 2., 3.]); b = a; b += 1; return a.tolist()
---
a = torch.tensor([1., 2., 3.]); b = a; b = b + 1; return a.tolist()
---
a = torch.tensor([1., 2., 3.]); b = a[1:]; b += 1; return a.tolist()
---
a = torch.tensor([1., 2., 3.]); b = a[1:]; b.mul_(2); return a.tolist()
---
a = torch.tensor([1., 2., 3.]); b = a.clone(); b.add_(1); return a.tolist(), b.tolist()
---
a = torch.tensor([1., 2., 3.]); a[0] = 5; a[1:] = 7; return a.tolist()
---
a = torch.zeros(2, 3); a[0, 1] = 5; a[1] = 2; a[:, 0] = torch.tensor([7., 8.]); return a.tolist()
---
a = torch.zeros(2, 3); a[:, 0::2] = 1; a[:, 1::2] += 2; return a.tolist()
---
a = torch.tensor([1, 2, 3]); a[a > 1] = 0; return a.tolist()
---
a = torch.zeros(3); b = a.expand(2, 3); return b.tolist()
---
a = torch.tensor([1., 2.]); b = a.detach(); b += 1; return a.tolist()
---
a = torch.tensor([1., 2.]); b = a.float(); b += 1; c = a.to(torch.float32); c += 1; d = a.double(); d += 1; return a.tolist(), d.tolist()
---
a = torch.tensor([1., 2.]); l = [a, a]; l[0] += 1; return [t.tolist() for t in l], a.tolist()
---
a = torch.tensor([1., 2.]); d = {'a': a}; d['a'].mul_(3); return a.tolist()
---
a = torch.tensor([1, 2]); b = a.numpy(); b[0] = 9; return a.tolist()
---
b = np.array([1., 2.]); a = torch.tensor(b); b[0] = 7; return a.tolist()
---
a = torch.arange(6).view(2, 3); return a.T.tolist(), a.permute(1, 0).tolist(), a.sum(-1).tolist(), a[:, -1].tolist(), a.flip(1).tolist(), (a % 4).tolist(), (a // -2).tolist()
---
x = torch.full((2, 2), float('-inf')); return torch.triu(x, diagonal=1).tolist()
---
m = (torch.triu(torch.ones(3, 3)) == 1).transpose(0, 1); m = m.float().masked_fill(m == 0, float('-inf')).masked_fill(m == 1, float(0.0)); return m.tolist()
---
c = torch.stack(torch.meshgrid([torch.arange(2), torch.arange(3)], indexing='ij')); f = torch.flatten(c, 1); r = f[:, :, None] - f[:, None, :]; r = r.permute(1, 2, 0).contiguous(); r[:, :, 0] += 1; r[:, :, 1] += 2; r[:, :, 0] *= 5; return r.sum(-1).tolist()
---
return (1 / torch.tensor([3, 7])).tolist(), (torch.tensor([1, 2]) / torch.tensor([3, 7])).tolist(), (10 - torch.tensor([1.5])).tolist(), torch.rsub(torch.tensor([1]), 5).tolist(), (2 ** torch.arange(3)).tolist(), (1.5 ** torch.arange(3)).tolist()
---
n = torch.tensor(5); return n.item() * 2, int(n.item()) // 2, list(range(n.item())), [0, 1, 2, 3, 4, 5, 6][n.item()], n.item() / 2
---
dims = [64, 128]; t = torch.tensor(dims).prod().item(); return t, torch.tensor(dims).tolist() == dims, sum(torch.tensor(dims).tolist()), torch.prod(torch.tensor(dims)).item()
---
a = torch.tensor([1, 2, 3]); return a.float().mean().item(), a.sum().item() / 3, a.max().item(), [int(v) for v in a.tolist()], [v.item() for v in a], len(a), [x * 2 for x in a.tolist()]
---
t = torch.tensor([True, False]); return (t + True).tolist(), (t * True).tolist(), (t * 1).tolist(), (t + t).tolist(), (t.int() - 1).tolist(), (t * 1.5).tolist(), (t | True).tolist(), (t & False).tolist(), t.sum().item(), (~t).tolist(), (t ^ t).tolist(), t.float().tolist(), (1 - t.int()).tolist(), str((t * True).dtype), str((t + t).dtype)
---
t = torch.tensor([1.5, 2.5, -1.5]); return torch.round(t).tolist(), torch.round(t, decimals=1).tolist(), torch.trunc(t).tolist(), t.long().tolist(), t.to(torch.uint8)[:2].tolist(), torch.floor(t).int().tolist(), t.round().long().tolist()
---
a = np.arange(6, dtype=np.float32).reshape(2, 3); return a.tolist(), a.dtype == np.float32, (a / 3).tolist(), (a * 0.1).tolist(), (a + np.arange(3)).tolist(), a.sum().item() if hasattr(a.sum(), 'item') else a.sum()
---
a = np.array([1, 2, 3], dtype=np.uint8); return (a - 2).tolist(), (a * 100).tolist(), (-a).tolist(), (a / 2).tolist(), (a // 2).tolist(), (a + a).tolist(), (a.astype(np.int32) - 2).tolist(), (a * 1.5).tolist()
---
a = np.array([True, False]); return (a + a).tolist(), (a * 2).tolist(), (~a).tolist(), (a & True).tolist(), a.astype(int).tolist(), a.astype(float).tolist(), (a * 1.5).tolist()
---
a = np.array([1, 2.5]); return a.tolist(), (a // 1).tolist(), a.astype(int).tolist(), a.astype('int64').tolist(), a.astype(np.uint8).tolist(), np.array([1, 2], dtype=float).tolist(), np.array([1.7, -1.7]).astype(int).tolist()
---
a = np.array([[1, 2], [3, 4]]); a[0] = 9; a[:, 1] = [5, 6]; a[1, 0] += 2; a[:, 0] *= 2; return a.tolist()
---
a = np.array([[1, 2], [3, 4]]); r = a[0]; r[0] = 7; r += 1; return a.tolist(), r.tolist()
---
a = np.array([[1, 2], [3, 4]]); a[a > 2] = 0; b = np.array([1, 2, 3]); b[b == 2] = 9; b[[0, 2]] = 4; return a.tolist(), b.tolist()
---
a = np.arange(4); b = a; a = a + 1; c = a; c -= 1; return a.tolist(), b.tolist()
---
a = np.arange(4.); a /= 2; a **= 2; a -= 0.25; a *= [1, 2, 3, 4]; return a.tolist()
---
a = np.arange(3); b = a.copy(); b[0] = 5; c = np.array(a); c[1] = 7; d = np.asarray(a); d[2] = 9; return a.tolist(), b.tolist(), c.tolist(), d.tolist()
---
return np.arange(0, 1, 0.1).tolist(), np.arange(1, 2, 0.3).tolist(), np.arange(5, dtype=float).tolist(), np.arange(2, 8, 2, dtype='int32').tolist(), np.arange(0, 1, 0.25, dtype=np.float32).tolist(), np.arange(0.1, 1, 0.2, dtype=np.float32).tolist(), np.arange(3, 0, -1).tolist(), np.arange(-0.5, 0.5, 0.3).tolist(), np.arange(0).shape
---
return np.eye(2).tolist(), np.eye(2, dtype=int).tolist(), np.identity(2).tolist(), np.eye(2, 3, 1).tolist()
---
return np.concatenate([np.array([1, 2]), np.array([0.5])]).tolist(), np.stack([np.array([1, 2]), np.array([3, 4])]).tolist(), np.concatenate([np.arange(2, dtype=np.float32), np.arange(2, dtype=np.float32)]).tolist(), np.stack([np.array([1]), np.array([2.])], axis=1).tolist()
---
t = np.array([[p / np.power(10000, 2 * (j // 2) / 4) for j in range(4)] for p in range(3)]); t[:, 0::2] = t[:, 0::2] * 2; t[:, 1::2] = t[:, 1::2] + 1; return t.tolist(), torch.FloatTensor(t).tolist(), str(torch.FloatTensor(t).dtype)
---
a = np.array([1., 3., 3., 1.]); f = np.outer(a, a); f = f / np.sum(f); f = f * 4; return f.tolist(), torch.Tensor(a[:, None] * a[None, :]).tolist(), str(torch.from_numpy(f).dtype), torch.from_numpy(f).float().tolist(), str(torch.tensor(f, dtype=torch.float32).dtype), torch.tensor(a.tolist()).tolist()
---
k = np.zeros((3, 3)); f = math.ceil(3 / 2.); c = (2 * f - 1 - f % 2) / (2. * f)
for i in range(3):
    for j in range(3): k[i, j] = (1 - abs(i / f - c)) * (1 - abs(j / f - c))
return k.tolist(), torch.from_numpy(k).float().tolist(), str(torch.from_numpy(k).dtype)
---
a = np.zeros((2, 4)); a[:, 0::2] = np.array([[1.5], [2.5]]); return a.tolist(), a.shape, str(torch.from_numpy(a).dtype)
---
return np.zeros(2).tolist(), np.ones((2, 2), dtype=int).tolist(), np.full((2,), 3).tolist(), np.full((1, 2), 0.5, dtype=np.float32).tolist(), np.zeros((2,), np.int32).tolist(), np.ones(3, int).tolist(), np.zeros((2,), dtype='int32').tolist(), np.zeros_like(np.array([1, 2])).tolist(), np.ones_like(np.array([1., 2])).tolist(), np.full_like(np.array([1, 2]), 7).tolist(), np.zeros((1, 2), dtype=bool).tolist(), np.full((2,), True).tolist(), np.zeros([2, 1]).tolist(), np.ones(shape=(2,)).tolist(), np.full(2, fill_value=1.5).tolist()
---
m = np.ones((3, 3)); m[1:, :] = 0; m[0, 0] = 5; m = m.astype(np.float32); return m.tolist(), torch.from_numpy(m).tolist(), str(torch.from_numpy(m).dtype), torch.from_numpy(m.copy()).unsqueeze(0).shape == (1, 3, 3)
---
w = np.zeros((2, 1, 2, 2))
for i in range(2): w[i, 0, :, :] = np.array([[1, 2], [3, 4]]) * (i + 1)
return w.tolist()
---
a = np.empty((2, 2)); a[:] = 3; a[0] = [1, 2]; return a.tolist()
---
w = np.zeros((2, 2, 2, 3), dtype=np.float32); f = np.array([[1., 2., 3.], [4., 5., 6.]]); w[range(2), range(2), :, :] = f; return w.tolist()
---
a = np.arange(12).reshape(3, 4); return a[[0, 2], [1, 3]].tolist(), a[[0, 1]].tolist(), a[1:, [0, 3]].tolist(), a[:, -1].tolist(), a.T[1].tolist(), a[a % 2 == 0].tolist()
---
a = np.arange(6.).reshape(2, 3); b = a[:, 1]; c = b * 2; a[:, 1] = c; return a.tolist(), c.tolist()
---
a = np.arange(6.).reshape(2, 3); a -= a.mean(); a /= a.max(); return a.tolist()
---
a = np.ones((3, 2)); a[1:] += a[:-1]; return a.tolist()
---
a = np.array([1, 2, 3]); a[::-1] = a.copy(); return a.tolist(), a[::-1].tolist()
---
x = np.zeros(3); x[0] += 0.1; x[0] += 0.2; x[1] = 1/3; x[2] = True; return x.tolist()
---
x = np.zeros(3, dtype=np.float32); x[0] += 0.1; x[1] = 1/3; x[2] = 16777217; return x.tolist()
---
x = np.zeros(3, dtype=int); x[0] = 2.9; x[1] = True; x[2] -= 5; return x.tolist()
---
m = np.zeros((2, 2)); m[0][1] = 3; m[1] += 2; r = m[1]; r *= 2; return m.tolist()
---
def f(a): a[0] = 9; return a
x = np.array([1, 2]); y = f(x); z = f(np.array(x)); return x.tolist(), y is x
---
s = np.array([[0.229, 0.224, 0.225]]); m = np.array([0.485, 0.456, 0.406]); return (m / s).tolist(), (1 / s).tolist(), torch.tensor(m).float().tolist(), str(torch.tensor(m).dtype), torch.Tensor(m).view(1, 3, 1, 1).shape == (1, 3, 1, 1), torch.tensor(m, dtype=torch.float32).tolist()
---
scales = np.array([8, 16, 32]); ratios = np.array([0.5, 1, 2]); h = np.sqrt(ratios); ws = (16 * (1 / h)[:, None] * scales[None, :]).reshape(-1); hs = (16 * h[:, None] * scales[None, :]).reshape(-1); return np.stack([ws, hs], axis=1).tolist(), np.round(ws).tolist()
---
k = np.array([1, 4, 6, 4, 1], dtype=float); k = k[:, None] * k; k /= k.sum(); return k.tolist(), torch.from_numpy(k).to(torch.float32)[None, None].repeat(2, 1, 1, 1).shape == (2, 1, 5, 5)
---
a = torch.tensor([1.5, -2.25], dtype=torch.float16); a += torch.tensor([1.5, 0.25], dtype=torch.float64); a.mul_(torch.tensor([2., 0.5])); return a.tolist(), a.dtype
---
a = torch.tensor([1.5, -2.25], dtype=torch.bfloat16); b = a; b -= torch.tensor([1., 0.25]); return a.tolist(), a.dtype, b is a
---
a = torch.tensor([7, -3], dtype=torch.int32); a += torch.tensor([1, 2]); a //= 2; return a.tolist(), a.dtype
---
a = torch.tensor([7.9, -3.2]); b = torch.as_tensor(a, dtype=torch.int64); c = torch.tensor(a, dtype=torch.float64); return b.tolist(), b.dtype, c.dtype, torch.as_tensor(b, dtype=torch.bool).tolist()
---
a = torch.tensor([1., 2.]); b = torch.tensor(a); b += 1; c = torch.as_tensor(a); c *= 3; return a.tolist(), b.tolist(), c.tolist()
---
t = torch.tensor([True, False]); return (t + True).tolist(), (t * True).tolist(), (t * 1).tolist(), (t | True).tolist(), (t & False).tolist(), str((t * True).dtype)
---
a = torch.tensor(2.0, dtype=torch.float64); b = torch.tensor(0.1, dtype=torch.float64); return (a * b).item(), (b * 3).item(), b.float().item(), torch.tensor([0.1], dtype=torch.double).tolist(), torch.tensor(1e-50, dtype=torch.float64).item(), torch.linspace(0, 1, 4, dtype=torch.float64).tolist(), torch.tensor([2**53 + 1, -2**62]).tolist()
---
n = torch.tensor([3.9]); return int(n), float(torch.tensor(2)), int(torch.tensor(7) // 2), 'yes' if torch.tensor(1) > 0 else 'no', bool(torch.tensor([0.0])), [0, 1, 2, 3][int(torch.tensor(2))]
"""
